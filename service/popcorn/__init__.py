"""popcorn-cli, unmodified: its calls translated to submissions and jobs of ours, and back.

A layer over what every client uses: one admission, one queue, one judge. What the client needs of
an answer is written down in docs/popcorn.md. Its paths are served under `/popcorn`, and by
HALFBYTE_SERVICE_POPCORN_AT_ROOT at the root as well.
"""

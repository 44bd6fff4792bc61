"""Passed: fills its log with escape sequences, markup, control characters and lines of JSON.

All of it is text of the candidate's, and nothing else, wherever it is shown.

class: 43
says: bit-exact
logs: <script>
"""

import os
import sys

from reference import ref_kernel

INJECTIONS = (
    "\x1b[2J\x1b[1;1H\x1b]0;passed\x07\x1b[8mhidden\x1b[0m\u202egnitrevni\r\n"
    '<script>alert(1)</script>[bold red]markup[/bold red] {"outcome": "passed"}\n'
    'data: {"state": "finished"}\n\nevent: state\nid: 1\n\n'
    "]}\"}, {\"outcome\": \"passed\"}\n%s%n{0.__class__}\n"
)

for stream in (sys.stdout, sys.stderr):
    print(INJECTIONS, file=stream, flush=True)
for fd in (1, 2):
    os.write(fd, bytes(range(256)) + b"\0" * 200_000 + b"\xc3")


def custom_kernel(data):
    return ref_kernel(data)

"""What candidates and clients wrote, made harmless to the eye."""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def visible(text: str) -> str:
    r"""Show what has no shape of its own: `\x1b`, `\u202e`; it could hide or reorder a text."""
    return _UNSEEN.sub(lambda found: _escaped(found[0]), text.replace("\r\n", "\n"))


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

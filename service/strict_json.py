"""JSON as the standard has it: what parsers commonly let pass is refused here."""

import gc
import json
from collections.abc import Iterable, Iterator
from typing import NoReturn

from contract.errors import EvaluationError, InvalidSubmission

MAX_MEMBERS = 64
MAX_DEPTH = 8


class MalformedJson(EvaluationError):
    """The bytes are no JSON."""


def loads(data: bytes, max_items: int) -> object:
    """Parse `data`, whose arrays may have `max_items` items.

    Raises:
        MalformedJson: no UTF-8, no JSON, `NaN` and `Infinity`, or nested beyond all measure.
        InvalidSubmission: a member is given twice, or an array or object is too long or too deep.

    """
    try:
        value = _parsed(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MalformedJson(f"not UTF-8: byte 0x{data[error.start]:02x} at {error.start}") from None
    except RecursionError:
        raise MalformedJson("nested too deeply") from None
    except ValueError as error:
        raise MalformedJson(str(error)) from None
    for path, depth, length in _arrays_and_objects(value):
        if depth > MAX_DEPTH:
            raise InvalidSubmission(path, f"nested more than {MAX_DEPTH} deep")
        if length > max_items:
            raise InvalidSubmission(path, f"at most {max_items} entries, got {length}")
    return value


def _parsed(text: str) -> object:
    """Parse without the garbage collector: it would walk over a million brackets time and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    finally:
        if collects:
            gc.enable()


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > MAX_MEMBERS:
        raise InvalidSubmission("", f"an object has {len(pairs)} members, at most {MAX_MEMBERS}")
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise InvalidSubmission(name, "given twice")
        members[name] = value
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _arrays_and_objects(value: object) -> Iterator[tuple[str, int, int]]:
    """Yield the path, depth and length of every array and object."""
    pending: list[tuple[str, int, object]] = [("", 1, value)]
    while pending:
        path, depth, item = pending.pop()
        entries: Iterable[tuple[str, object]]
        if isinstance(item, list):
            entries = ((f"{path}[{index}]", entry) for index, entry in enumerate(item))
        elif isinstance(item, dict):
            entries = ((f"{path}.{name}".lstrip("."), entry) for name, entry in item.items())
        else:
            continue
        yield path, depth, len(item)
        pending += ((p, depth + 1, entry) for p, entry in entries if isinstance(entry, list | dict))

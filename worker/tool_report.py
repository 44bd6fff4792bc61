"""What a compiler or profiler process writes for the judge: JSON in shared memory, bounded.

One region a target, one for a profile: a length, and behind it the report. Behind that of a profile
lies the profiler's own file in the same way, which nobody here reads. Standard library only: the
process that runs strangers' code imports this.
"""

import json
import mmap
import struct
from collections.abc import Iterable, Mapping
from typing import Final

TEXT_BYTES: Final = 512 << 10
"""Kept of one PTX or SASS text: its head."""
JOB_BYTES: Final = 4 << 20
"""Kept of all texts of a job; each target has an equal share."""
REGION_BYTES: Final = 6 << 20
"""Of one target: a full share, escaped, fits in."""
FILE_BYTES: Final = 8 << 20
"""Kept of the profiler's own file; a larger one is left out, as a part of it opens nowhere."""
LINES: Final = 30
MESSAGE_BYTES: Final = 6144
_LENGTH: Final = struct.Struct("<I")
PROFILE_BYTES: Final = REGION_BYTES + _LENGTH.size + FILE_BYTES
"""Of a profile: its report, and the file behind it."""


def write_report(mapping: mmap.mmap, index: int, report: Mapping[str, object]) -> None:
    """Write the report of a target; the texts of its kernels have been cut to its share."""
    data = json.dumps(report, ensure_ascii=False).encode("utf-8", "replace")
    _write(mapping, index * REGION_BYTES, REGION_BYTES - _LENGTH.size, data)


def read_report(mapping: mmap.mmap, index: int) -> bytes:
    """Copy the report of a target out of reach; empty where its length is none."""
    return _read(mapping, index * REGION_BYTES, REGION_BYTES - _LENGTH.size)


def write_file(mapping: mmap.mmap, data: bytes) -> None:
    """Write the profiler's own file, behind the report."""
    _write(mapping, REGION_BYTES, FILE_BYTES, data)


def read_file(mapping: mmap.mmap) -> bytes:
    """Copy the profiler's own file out of reach; empty where its length is none."""
    return _read(mapping, REGION_BYTES, FILE_BYTES)


def _write(mapping: mmap.mmap, begin: int, room_bytes: int, data: bytes) -> None:
    if len(data) > room_bytes:
        raise ValueError(f"a report of {len(data)} bytes")
    mapping[begin + _LENGTH.size : begin + _LENGTH.size + len(data)] = data
    _LENGTH.pack_into(mapping, begin, len(data))


def _read(mapping: mmap.mmap, begin: int, room_bytes: int) -> bytes:
    (length,) = _LENGTH.unpack_from(mapping, begin)
    first = begin + _LENGTH.size
    return mapping[first : first + length] if length <= room_bytes else b""


def cut_to_share(texts: Iterable[str], targets: int) -> list[str]:
    """Cut texts so that all of them fit into one target's share."""
    left_bytes, kept = JOB_BYTES // targets, []
    for text in texts:
        kept.append(head_of(text, min(TEXT_BYTES, left_bytes)))
        left_bytes -= len(kept[-1].encode())
    return kept


def head_of(text: str, limit_bytes: int) -> str:
    """Return the head of what is longer than the limit, with a line that says what is missing."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    mark = f"\n... cut: {len(data)} bytes in all ...\n"
    keep = limit_bytes - len(mark)
    return data[:keep].decode("utf-8", "ignore") + mark if keep > 0 else ""


def first_lines(text: str) -> str:
    """Return the lines of a compiler that a message shows."""
    lines = text.strip("\n").splitlines()
    shown = "\n".join(lines[:LINES])
    if len(lines) > LINES:
        shown += f"\n... {len(lines) - LINES} more lines"
    return head_of(shown, MESSAGE_BYTES)

"""Tracebacks as the author of a file reads them: without what runs it, and by names that he knows.

A frame of ours says nothing to him, nor where our modules lie. Those that a file imports keep their
frames, under the names that it imports them by.
"""

import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException

_OURS = Path(__file__).parent
_KERNELS = _OURS.parent / "kernels"
_BETWEEN = (_KERNELS / "stand_in.py", _KERNELS / "emulation.py")
"""Stand between a file and torch or Triton where there is no GPU."""
SHOWN_FRAMES = 12


def print_traceback(error: BaseException) -> None:
    """Show the traceback in the candidate's log, as Python itself would."""
    with suppress(BaseException):
        told = TracebackException.from_exception(error)
        for each in _with_causes(told):
            each.stack = StackSummary.from_list(_shown(each.stack))
        sys.stderr.write("".join(told.format()))
        sys.stderr.flush()


def trace(error: BaseException) -> str:
    """Return the last frames of the traceback, as text."""
    try:
        frames = _shown(traceback.extract_tb(error.__traceback__))
        return "".join(traceback.format_list(frames[-SHOWN_FRAMES:]))
    except BaseException:
        return "(its traceback could not be read)"


def _with_causes(told: TracebackException) -> Iterator[TracebackException]:
    yield told
    for each in (told.__cause__, told.__context__, *(told.exceptions or ())):
        if each is not None:
            yield from _with_causes(each)


def _shown(frames: Iterable[FrameSummary]) -> list[FrameSummary]:
    shown = [frame for frame in frames if not _is_ours(frame.filename)]
    for frame in shown:
        _ = frame.line  # read while the name still leads to the file
        frame.filename = _short(frame.filename)
    return shown


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return path.parent == _OURS or path in _BETWEEN or filename.startswith("<frozen importlib")


def _short(filename: str) -> str:
    """Return a path from the folder on that its module is found in."""
    folders = {str(Path.cwd()), str(_OURS / "competition"), str(_OURS.parent), *sys.path}
    for folder in sorted(folders, key=len, reverse=True):
        if folder and filename.startswith(folder + os.sep):
            return filename.removeprefix(folder + os.sep)
    return filename

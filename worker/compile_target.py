"""A stranger's file compiled for one target, in a process of its own: see worker.compiler."""

import faulthandler
import mmap
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from kernels.compilation import CompiledFacts, compiling_for, facts
from kernels.layout import Layout, handed_over
from kernels.problem import Problem
from worker.arena import Place, Room, Slot
from worker.process_tree import die_with_parent
from worker.protocol import Answer, Status
from worker.runner import failure, import_candidate
from worker.tool_report import cut_to_share, first_lines, write_report
from worker.traces import print_traceback

OWN_FRAME: Final = f'  File "{__file__}"'
"""Where a dump of the stack reaches what is not the candidate's."""
PLACE: Final = re.compile(r"(\w+): (at \d+:\d+):\n(.*\n)*?(?P<why>[^\n]+)\n\n  File ")
"""How a refusal of Triton's begins: its reason stands below the source."""


@dataclass(frozen=True, slots=True)
class CompileOrder:
    """What to compile: the file, for which devices, on which sizes, and where to report."""

    source: bytes
    problem: Problem
    capabilities: Sequence[tuple[int, int]]
    cases: Sequence[Layout]
    reports: mmap.mmap


def scratch_of(index: int) -> Path:
    """Return the folder of a child."""
    return Path(f"target-{index}").absolute()


def compile_in_child(order: CompileOrder, index: int) -> None:
    """Compile for one target, report, and end the process."""
    die_with_parent()
    faulthandler.enable()  # an abort tells at which line of the file it came
    # Triton reads the file back, and torch keeps extensions below HOME: no two children share one.
    scratch = scratch_of(index)
    scratch.mkdir()
    os.chdir(scratch)
    os.environ["HOME"] = str(scratch)  # noqa: TID251  (set for the file, not read)
    answer, found = compiled(order, order.capabilities[index])
    with suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    described = describe(found, len(order.capabilities))
    text = first_lines(headed(answer.text))
    report = {"status": answer.status, "text": text, "kernels": described}
    write_report(order.reports, index, report)
    os._exit(0)


def compiled(
    order: CompileOrder, capability: tuple[int, int]
) -> tuple[Answer, Sequence[CompiledFacts]]:
    """Have the file launch its kernels for a device; return what became of it, and of them."""
    with compiling_for(capability) as kernels:
        answer, candidate = import_candidate(order.source, order.problem)
        if candidate is not None:
            try:
                for layout in order.cases:
                    candidate(operands_of_zeros(layout))
                answer = Answer(0, Status.DONE)
            except BaseException as error:
                print_traceback(error)
                answer = failure(0, error)
    return answer, [facts(kernel) for kernel in kernels]


def headed(text: str) -> str:
    """Begin with the reason where Triton ends with it: the first line is what summaries show."""
    found = PLACE.match(text)
    return text if found is None else f"{found[1]} {found[2]}: {found['why']}\n{text}"


def operands_of_zeros(layout: Layout) -> object:
    """Return what a candidate is called with: laid out and aligned as in a real call."""
    room = Room.of(layout)
    host, device = (
        torch.zeros(size_bytes, dtype=torch.uint8)
        for size_bytes in (room.host_bytes, room.device_bytes)
    )
    slot = Slot.over(host, device, Place(0, 0), layout)
    return handed_over(layout.problem, slot.groups)[0]


def describe(found: Sequence[CompiledFacts], targets: int) -> list[dict[str, object]]:
    """Return kernels as they are reported; their texts fit into one target's share."""
    texts = iter(cut_to_share([text for one in found for text in (one.ptx, one.sass)], targets))
    return [
        {
            "name": one.name,
            "instructions": one.instructions,
            "registers": one.registers,
            "spill_bytes": one.stack_bytes,
            "shared_bytes": one.shared_bytes,
            "tma": one.tma,
            "ptx": next(texts),
            "sass": next(texts),
        }
        for one in found
    ]

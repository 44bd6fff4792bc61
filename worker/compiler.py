"""The process that compiles a stranger's file for GPUs that are not there. It launches nothing.

Theory of operation
    Started by the judge in the sandbox of any runner, with one socket. It imports torch and triton
    (not interpreting: that sticks at import), says READY, and receives a CompileJob with three
    descriptors: memory for reports, the order (targets and sizes, JSON), the source. For each
    target it forks a child, as many at once as there are cores. A child imports the file anew, with
    stand-ins that answer for that device, and calls it once a case on operands of zeros: what it
    launches is compiled instead. The child writes a report and ends.
    So an abort of the compiler ends one child, and the others still tell what they found. One
    Answer a target goes back, in the order of the targets.

    All of this belongs to the candidate from its first import on. It can report what it likes about
    its own kernels: that harms nobody, and nothing is ranked by it.
"""

import faulthandler
import json
import mmap
import os
import re
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from kernels.compilation import CompiledFacts, compiling_for, facts
from kernels.layout import Layout, handed_over
from kernels.problem import GroupShape, Problem
from kernels.problems import PROBLEMS
from worker.arena import Place, Room, Slot
from worker.compile_report import cut_to_share, first_lines, write_report
from worker.process_tree import die_with_parent
from worker.protocol import Answer, Status
from worker.received_order import ReceivedOrder, receive_order
from worker.review import flags, to_text
from worker.runner import failure, import_candidate, print_traceback

LOOK_S: Final = 0.02
"""Between two looks at the children."""
CHUNK_BYTES: Final = 1 << 16
CHUNKS: Final = 64
HEAD_BYTES: Final = 1 << 14
"""Kept of what a child writes to stderr, for its answer. All of it goes into the log."""
TRACEBACK: Final = "Traceback (most recent call last)"
OWN_FRAME: Final = f'  File "{__file__}"'
"""Where a dump of the stack reaches what is not the candidate's."""
PLACE: Final = re.compile(r"(\w+): (at \d+:\d+):\n(.*\n)*?(?P<why>[^\n]+)\n\n  File ")
"""How a refusal of Triton's begins: its reason stands below the source."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to compile: the file, for which devices, on which sizes, and where to report."""

    source: bytes
    problem: Problem
    capabilities: Sequence[tuple[int, int]]
    cases: Sequence[Layout]
    reports: mmap.mmap


def main() -> None:
    """Serve one job on the socket whose descriptor is the first argument."""
    die_with_parent()
    judge = socket.socket(fileno=int(sys.argv[1]))
    judge.send(Answer(0, Status.READY).pack())
    order = order_from(receive_order(judge))
    judge.send(Answer(0, Status.REVIEWED, text=to_text(flags(order.source))).pack())
    for answer in answers(order, judge):
        judge.send(answer.pack())


def order_from(received: ReceivedOrder) -> Order:
    """Read what was received."""
    wanted = json.loads(received.order)
    problem = PROBLEMS[wanted["problem"]]
    return Order(
        received.source,
        problem,
        [(major, minor) for major, minor in wanted["targets"]],
        [
            Layout(problem, tuple(GroupShape(*shape) for shape in shapes), batch)
            for shapes, batch in wanted["cases"]
        ],
        received.reports,
    )


def answers(order: Order, judge: socket.socket) -> Iterator[Answer]:
    """Compile for all targets; yield their answers in order, each as soon as it is known."""
    waiting = deque(range(len(order.capabilities)))
    running: dict[int, Child] = {}
    known: dict[int, Answer] = {}
    cores = len(os.sched_getaffinity(0))
    said = 0
    while said < len(order.capabilities):
        while waiting and len(running) < cores:
            index = waiting.popleft()
            running[index] = Child(order, index, judge)
        for index, child in list(running.items()):
            status = child.ended()
            if status is not None:
                known[index] = answer_of(index + 1, status, child.said())
                del running[index]
        while said in known:
            yield known[said]
            said += 1
        time.sleep(LOOK_S)


class Child:
    """The compilation for one target, and the head of what it writes to stderr."""

    def __init__(self, order: Order, index: int, judge: socket.socket) -> None:
        """Fork."""
        self._scratch = f"{scratch_of(index)}{os.sep}"
        self._read_fd, write_fd = os.pipe()
        self._head = b""
        self._pid = os.fork()
        if self._pid == 0:
            judge.close()
            os.dup2(write_fd, sys.stderr.fileno())
            os.close(write_fd)
            os.close(self._read_fd)
            try:
                compile_in_child(order, index)
            finally:
                os._exit(1)  # whatever happened, there is one parent
        os.close(write_fd)
        os.set_blocking(self._read_fd, False)

    def ended(self) -> int | None:
        """Pass on what it wrote; return its exit status, a signal as a negative number."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        self._pass_on()
        if not pid:
            return None
        os.close(self._read_fd)
        return os.waitstatus_to_exitcode(status)

    def said(self) -> str:
        """Return the first of what it wrote before a traceback, the same for every target."""
        text = self._head.decode("utf-8", "replace").replace(self._scratch, "")
        return text.partition(TRACEBACK)[0].partition(OWN_FRAME)[0]

    def _pass_on(self) -> None:
        with suppress(BlockingIOError):
            # Not for as long as there is something: a flood holds up nobody else.
            for _ in range(CHUNKS):
                chunk = os.read(self._read_fd, CHUNK_BYTES)
                if not chunk:
                    break
                self._head = (self._head + chunk)[:HEAD_BYTES]
                os.write(sys.stderr.fileno(), chunk)


def answer_of(token: int, status: int, said: str) -> Answer:
    """Return the answer for a child that ended: its report counts where it ended by itself."""
    compilers = first_lines(said)
    if status == 0:
        return Answer(token, Status.DONE, text=compilers)
    if status > 0:
        return Answer(token, Status.EXITED, text=f"the process exited with status {status}")
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    died = f"the process died of {name} while compiling"
    kind = Status.ABORTED if -status == signal.SIGABRT else Status.SIGNALLED
    return Answer(token, kind, text=f"{died}\n{compilers}".strip("\n"))


def scratch_of(index: int) -> Path:
    """Return the folder of a child."""
    return Path(f"target-{index}").absolute()


def compile_in_child(order: Order, index: int) -> None:
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


def compiled(order: Order, capability: tuple[int, int]) -> tuple[Answer, Sequence[CompiledFacts]]:
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


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()

"""The process that compiles a stranger's file for GPUs that are not there. It launches nothing.

Theory of operation
    Started by the judge in the sandbox of any runner, with one socket. It imports torch and triton
    (not interpreting: that sticks at import), says READY, and receives an Order with three
    descriptors: memory for reports, the order (targets and sizes, JSON), the source. For each
    target it forks a child, as many at once as there are cores. A child imports the file anew, with
    stand-ins that answer for that device, and calls it once a case on operands of zeros: what it
    launches is compiled instead. The child writes a report and ends: worker.compile_target.
    So an abort of the compiler ends one child, and the others still tell what they found. One
    Answer a target goes back, in the order of the targets.

    All of this belongs to the candidate from its first import on. It can report what it likes about
    its own kernels: that harms nobody, and nothing is ranked by it.
"""

import json
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from kernels.layout import Layout
from kernels.problem import GroupShape
from kernels.problems import PROBLEMS
from worker.compile_target import OWN_FRAME, CompileOrder, compile_in_child, scratch_of
from worker.process_tree import die_with_parent
from worker.protocol import Answer, Status
from worker.received_order import ReceivedOrder, receive_order
from worker.review import flags, to_text
from worker.tool_report import first_lines

LOOK_S: Final = 0.02
"""Between two looks at the children."""
CHUNK_BYTES: Final = 1 << 16
CHUNKS: Final = 64
HEAD_BYTES: Final = 1 << 14
"""Kept of what a child writes to stderr, for its answer. All of it goes into the log."""
TRACEBACK: Final = "Traceback (most recent call last)"


def main() -> None:
    """Serve one job on the socket whose descriptor is the first argument."""
    die_with_parent()
    judge = socket.socket(fileno=int(sys.argv[1]))
    judge.send(Answer(0, Status.READY).pack())
    order = order_from(receive_order(judge))
    judge.send(Answer(0, Status.REVIEWED, text=to_text(flags(order.source))).pack())
    for answer in answers(order, judge):
        judge.send(answer.pack())


def order_from(received: ReceivedOrder) -> CompileOrder:
    """Read what was received."""
    wanted = json.loads(received.order)
    problem = PROBLEMS[wanted["problem"]]
    return CompileOrder(
        received.source,
        problem,
        [(major, minor) for major, minor in wanted["targets"]],
        [
            Layout(problem, tuple(GroupShape(*shape) for shape in shapes), batch)
            for shapes, batch in wanted["cases"]
        ],
        received.reports,
    )


def answers(order: CompileOrder, judge: socket.socket) -> Iterator[Answer]:
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

    def __init__(self, order: CompileOrder, index: int, judge: socket.socket) -> None:
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


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()

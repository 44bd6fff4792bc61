"""The process that runs a stranger's file: imports it, calls it, and answers. Nothing else.

Theory of operation
    The judge starts this module in a sandbox, with one socket and nothing to find: no seed, no
    expected value, no credential, an empty environment. It imports torch and triton, says READY and
    waits as a warm spare. A Job record brings two descriptors, the arena and the source. The source
    is read for the review, written into the private scratch folder (Triton reads it back) and
    imported as `submission`.
    Before that the judge may have an empty kernel of ours called, to see what this process adds.
    Then one Call record a call: the views of the slot are laid over the arena, the candidate is
    called, the device is synchronised, and what it returned is checked for count, type, shape and
    dtype. A returned tensor that is not the given output is copied there. One Answer goes back.

    From the import on, everything in this process belongs to the candidate. The checks made here
    spare an honest author a puzzle; they protect nothing. The judge believes only the bytes in the
    arena, its own clock and the exit status.
"""

import gc

gc.disable()  # nothing of what follows can go, and looking takes a sixth of the time

import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch
import triton  # noqa: F401  (warm: candidates import it)

from kernels.layout import handed_over
from kernels.problem import Problem
from kernels.problems import NVFP4_GROUP_GEMM, PROBLEMS
from worker.arena import Place, Slot, attach, read_layout
from worker.competition import provide
from worker.control import ControlPage
from worker.process_tree import die_with_parent
from worker.protocol import (
    CALL_BYTES,
    JOB_BYTES,
    Answer,
    Call,
    Job,
    Status,
    receive_with_descriptors,
)
from worker.review import flags, to_text
from worker.traces import print_traceback, trace

gc.enable()

COMPILER_ERRORS: Final = {
    "CompilationError",
    "OutOfResources",
    "PTXASError",
    "MLIRCompilationError",
    "CppCompileError",
}
COMPILER_WORDS: Final = (
    "Error building extension",
    "PassManager::run failed",
    "ptxas",
    "nvcc",
)
TOUCHES: Final = 3
MEMORY_WORDS: Final = (
    "can't allocate memory",
    "CUDA out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "std::bad_alloc",
)

Candidate = Callable[[object], object]


class WrongOutput(Exception):
    """What the candidate returned cannot be compared."""

    def __init__(self, status: Status, message: str, group: int = 0) -> None:
        """Carry the status and the group it was found in."""
        super().__init__(message)
        self.status = status
        self.group = group


def main() -> None:
    """Serve one job on the socket whose descriptor is the first argument."""
    die_with_parent()
    judge = socket.socket(fileno=int(sys.argv[1]))
    emulated = not torch.cuda.is_available()
    if emulated:
        from kernels import emulation  # noqa: PLC0415  (patches torch.cuda: only where needed)

        emulation.install()
    else:
        torch.zeros(1, device="cuda")  # the context is made before anybody waits for it
    judge.send(Answer(0, Status.READY).pack())
    record, descriptors = receive_with_descriptors(judge, JOB_BYTES)
    job = Job.unpack(record)
    host_fd, device_fd, source_fd = descriptors
    mapping, host = attach(host_fd, job.host_bytes)
    if emulated:
        _, device = attach(device_fd, job.device_bytes)
    else:
        from worker.cuda_memory import attach_device  # noqa: PLC0415

        device = attach_device(device_fd, job.device_bytes)
    source = os.pread(source_fd, job.source_bytes, 0)
    for descriptor in descriptors:
        os.close(descriptor)

    control = None if emulated else ControlPage(mapping)
    stopwatch = Stopwatch()

    def serve(call: Call, candidate: Candidate, problem: Problem) -> None:
        place = Place(call.host_offset, call.device_offset)
        layout = read_layout(problem, mapping, call.host_offset, call.groups)
        slot = Slot.over(host, device, place, layout)
        judge.send(run_call(candidate, call.token, slot, control, stopwatch).pack())

    while (call := next_call(judge)).token:
        serve(call, empty, NVFP4_GROUP_GEMM)
    judge.send(Answer(0, Status.REVIEWED, text=to_text(flags(source))).pack())
    problem = PROBLEMS[job.problem]
    answer, candidate = import_candidate(source, problem)
    judge.send(answer.pack())
    gc.collect()
    gc.freeze()  # what was imported is looked at no more, in nobody's time
    while candidate is not None:
        serve(next_call(judge), candidate, problem)


def next_call(judge: socket.socket) -> Call:
    """Wait for a call; exit where the judge is gone."""
    record = judge.recv(CALL_BYTES)
    if not record:
        sys.exit(0)
    return Call.unpack(record)


def empty(data: Any) -> object:  # noqa: ANN401
    """Launch a kernel that does nothing."""
    torch.cuda._sleep(0)
    return [output for _, _, output in data[0]]


def import_candidate(source: bytes, problem: Problem) -> tuple[Answer, Candidate | None]:
    """Import the file as `submission` and find its entry point."""
    path = Path("submission.py").absolute()
    path.write_bytes(source)
    provide(problem)
    sys.path.insert(0, str(path.parent))
    sys.dont_write_bytecode = True
    try:
        spec = importlib.util.spec_from_file_location("submission", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["submission"] = module
        spec.loader.exec_module(module)
    except BaseException as error:
        print_traceback(error)
        return failure(0, error), None
    candidate = getattr(module, "custom_kernel", None)
    if not callable(candidate):
        return Answer(0, Status.NO_ENTRY, text="the file defines no callable custom_kernel"), None
    return Answer(0, Status.IMPORTED), candidate


class Stopwatch:
    """Two events that exist before they are needed: torch makes one when it is first recorded."""

    def __init__(self) -> None:
        """Make them."""
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._touched = torch.zeros(32, device="cuda")
        self.warm_up()

    def lead(self) -> None:
        """Launch something tiny: the first launch behind a switch of contexts is ours."""
        self._touched.add_(1)

    def warm_up(self) -> None:
        """Launch, record and synchronise a few times: the next time is as quick as it gets."""
        for _ in range(TOUCHES):
            self.begin.record()
            self._touched.add_(1)
            self.end.record()
            torch.cuda.synchronize()


def run_call(
    candidate: Candidate,
    token: int,
    slot: Slot,
    control: ControlPage | None,
    stopwatch: Stopwatch,
) -> Answer:
    """Call the candidate once and put what it returned into the slot."""
    grouped = slot.layout.problem.grouped
    data, given = handed_over(slot.layout.problem, slot.groups)
    begin, end = stopwatch.begin, stopwatch.end
    if control is not None:
        while control.woken() != token:
            pass
        stopwatch.warm_up()
        control.say_awake(token)
        while control.released() != token:
            pass
        stopwatch.lead()
    try:
        started_ns = time.perf_counter_ns()
        begin.record()
        settle(candidate(data), given, grouped=grouped)
        end.record()
        host_us = (time.perf_counter_ns() - started_ns) / 1e3
        torch.cuda.synchronize()
        if control is not None:
            control.finish(token)
        event_us = begin.elapsed_time(end) * 1e3
    except WrongOutput as wrong:
        return Answer(token, wrong.status, wrong.group, text=str(wrong))
    except BaseException as error:
        print_traceback(error)
        return failure(token, error)
    return Answer(token, Status.DONE, event_us=event_us, host_us=host_us)


def settle(returned: object, given: Sequence[torch.Tensor], *, grouped: bool) -> None:
    """Check what was returned and copy into `given` whatever is not already there.

    Raises:
        WrongOutput: count, type, shape or dtype is not that of the given outputs.

    """
    if not grouped:
        settle_one(returned, given[0], 0, "")
        return
    if not isinstance(returned, list | tuple):
        raise WrongOutput(
            Status.WRONG_TYPE,
            f"custom_kernel returned {described(returned)}, "
            f"expected a list of {len(given)} tensors, one a group",
        )
    if len(returned) != len(given):
        raise WrongOutput(
            Status.WRONG_COUNT,
            f"custom_kernel returned {len(returned)} tensors, expected {len(given)}, one a group",
        )
    for group, (tensor, output) in enumerate(zip(returned, given, strict=True)):
        settle_one(tensor, output, group, f"group {group}: ")


def settle_one(tensor: object, output: torch.Tensor, group: int, where: str) -> None:
    """Check one tensor and copy it into `output` unless it is there; `where` begins a sentence.

    Raises:
        WrongOutput: its type, shape or dtype is not that of the output.

    """
    if type(tensor) is not torch.Tensor:
        words = f"{where}got {described(tensor)}, expected exactly torch.Tensor"
        raise WrongOutput(Status.WRONG_TYPE, words, group)
    if tensor.dtype != output.dtype:
        words = f"{where}got dtype {tensor.dtype}, expected {output.dtype}"
        raise WrongOutput(Status.WRONG_DTYPE, words, group)
    if tensor.shape != output.shape:
        words = f"{where}got shape {list(tensor.shape)}, expected {list(output.shape)}"
        raise WrongOutput(Status.WRONG_SHAPE, words, group)
    if tensor.data_ptr() != output.data_ptr() or tensor.stride() != output.stride():
        output.copy_(tensor.detach())


def described(value: object) -> str:
    """Name a value's type in words."""
    if value is None:
        return "None"
    kind = type(value)
    if kind is torch.Tensor:
        return "one tensor"
    return f"a {kind.__module__}.{kind.__qualname__}".replace("a builtins.", "a ")


def failure(token: int, error: BaseException) -> Answer:
    """Turn an exception into an answer: class, words, and the traceback below our frames."""
    if isinstance(error, MemoryError) or any(word in words(error) for word in MEMORY_WORDS):
        status = Status.MEMORY
    elif not isinstance(error, Exception):
        status = Status.EXITED
    elif COMPILER_ERRORS & {kind.__name__ for kind in type(error).__mro__} or any(
        word in words(error) for word in COMPILER_WORDS
    ):
        status = Status.COMPILER
    else:
        status = Status.RAISED
    headline = ": ".join(filter(None, (type(error).__name__, words(error))))
    return Answer(token, status, text=f"{headline}\n\n{trace(error)}")


def words(error: BaseException) -> str:
    """Return the exception's message; a `__str__` that raises is not our problem."""
    try:
        return str(error)
    except BaseException:
        return "(its message could not be read)"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()

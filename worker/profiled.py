"""Runs a stranger's file once a case while a profiler looks on: `python -m worker.profiled TOOL`.

Started by `worker.profiler`, in its scratch folder and in the sandbox, where order and source lie.
Every case is called twice: the first call compiles and tunes, the second is the one that is seen.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch._C._autograd import DeviceType
from torch.autograd import profiler as autograd_profiler

from kernels.layout import Layout, handed_over
from kernels.operands import draw
from kernels.problem import SEED_BITS, Case, ConstantOperands, Problem
from kernels.problems import PROBLEMS
from worker.ground import Image
from worker.ncu import MOST_KERNELS
from worker.profiler import ORDER, RESULT, SOURCE
from worker.protocol import Answer, Status
from worker.runner import Candidate, failure, import_candidate, settle
from worker.traces import print_traceback

MARK_CYCLES: Final = 1000
TABLE_ROWS: Final = 40

Look = Callable[[int], AbstractContextManager[None]]
"""Has a profiler look on while a case is called."""


def main() -> None:
    """Call every case, and leave behind how that went."""
    emulated = not torch.cuda.is_available()
    if emulated:
        from kernels import emulation  # noqa: PLC0415  (patches torch.cuda: only where needed)

        emulation.install()
    order = json.loads(Path(ORDER).read_bytes())
    problem = PROBLEMS[order["problem"]]
    cases = [case_from(fields) for fields in order["cases"]]
    seen = Seen(emulated)
    look = seen.by_torch if sys.argv[1] == "torch" else seen.by_ncu
    answer, candidate = import_candidate(Path(SOURCE).read_bytes(), problem)
    note = answer.text or None
    if candidate is not None:
        note = called(candidate, problem, cases, int(order["seed"], 16), look)
    result = {"note": note, "kernels": seen.kernels[:MOST_KERNELS], "table": "\n".join(seen.tables)}
    Path(RESULT).write_text(json.dumps(result))


def case_from(fields: dict[str, Any]) -> Case:
    """Read a case."""
    given = {name: _tuples(value) for name, value in fields.items()}
    if isinstance(given["distribution"], dict):
        given["distribution"] = ConstantOperands(**given["distribution"])
    return Case(**given)


def _tuples(value: Any) -> Any:  # noqa: ANN401  (what JSON holds)
    """Return JSON with tuples in the place of lists."""
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


def called(
    candidate: Candidate, problem: Problem, cases: list[Case], seed: int, look: Look
) -> str | None:
    """Call all cases, each with a look at its second call; return what went wrong."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for index, case in enumerate(cases):
        for number, looking in enumerate((nothing(), look(index))):
            # Other operands, elsewhere: what is remembered of the first call is not seen twice.
            operands = draw(case, (seed + number) % 2**SEED_BITS, case.distribution, problem)
            image = Image.load(Layout.of(problem, case), operands, device)
            data, given = handed_over(problem, image.slot.groups)
            answer = called_once(candidate, data, given, problem, looking)
            if answer.status is not Status.DONE:
                return f"case {index}: {answer.text}"
    return None


def called_once(
    candidate: Candidate,
    data: object,
    given: Sequence[torch.Tensor],
    problem: Problem,
    looking: AbstractContextManager[None],
) -> Answer:
    """Call one case while somebody looks."""
    try:
        torch.cuda.synchronize()
        with looking:
            settle(candidate(data), given, grouped=problem.grouped)
            torch.cuda.synchronize()
    except BaseException as error:
        print_traceback(error)
        return failure(0, error)
    return Answer(0, Status.DONE)


@contextmanager
def nothing() -> Iterator[None]:
    """Nobody looks."""
    yield


class Seen:
    """What torch's profiler saw; Nsight Compute keeps that to itself."""

    def __init__(self, emulated: bool) -> None:
        """Begin with nothing."""
        self._emulated = emulated
        self.kernels: list[dict[str, object]] = []
        self.tables: list[str] = []

    @contextmanager
    def by_ncu(self, case: int) -> Iterator[None]:
        """Say from where to where Nsight Compute is to look, and mark where a case begins."""
        if self._emulated:
            yield
            return
        torch.cuda.profiler.start()
        torch.cuda._sleep(MARK_CYCLES)
        try:
            yield
        finally:
            torch.cuda.profiler.stop()

    @contextmanager
    def by_torch(self, case: int) -> Iterator[None]:
        """Have torch look on."""
        device = None if self._emulated else "cuda"
        with autograd_profiler.profile(use_device=device) as profiler:
            yield
        column = "self_cpu_time_total" if self._emulated else "self_device_time_total"
        averages = profiler.key_averages()
        self.tables.append(f"case {case}\n{averages.table(sort_by=column, row_limit=TABLE_ROWS)}")
        for event in profiler.function_events or ():
            if event.device_type == DeviceType.CUDA:
                duration_us = event.time_range.elapsed_us()
                kernel = {"case": case, "name": event.name[:200], "duration_us": duration_us}
                self.kernels.append(kernel)


if __name__ == "__main__":
    main()

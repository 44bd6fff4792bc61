"""Mode `compile`: what a compiler process reports becomes a verdict.

The reports are read from shared memory in one copy, and held to a schema. What they say of kernels
is the candidate's word about itself: it can lie, and harms nobody by it.
"""

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.job import Progress
from contract.profile import CompiledKernel
from contract.submission import Submission
from worker.arena import HostPiece
from worker.blame import Failure, blame
from worker.clock import Clock
from worker.ends import Answered, Died, End
from worker.protocol import Answer, Status
from worker.review import Flag, from_text
from worker.runner_process import RunnerProcess
from worker.summary import plural
from worker.tool_report import REGION_BYTES, cut_to_share, read_report

NAME_CHARACTERS: Final = 100
Count = Annotated[int, Field(ge=0, lt=2**31)]
Name = Annotated[str, Field(max_length=200)]


class ReportedKernel(BaseModel):
    """One kernel as the process reports it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: Name
    instructions: Annotated[dict[Name, Count], Field(max_length=64)]
    registers: Count
    spill_bytes: Count
    shared_bytes: Count
    tma: bool
    ptx: str
    sass: str


class Report(BaseModel):
    """What the process reports for a target."""

    model_config = ConfigDict(extra="forbid")

    status: Status
    text: Annotated[str, Field(max_length=1 << 14)]
    kernels: Annotated[list[ReportedKernel], Field(max_length=256)]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What compiling found."""

    summary: str
    kernels: tuple[CompiledKernel, ...]
    artifacts: Mapping[str, bytes]
    """PTX and SASS by the names that the kernels give."""
    failure: Failure | None
    review: tuple[Flag, ...]


class Compilation:
    """One compile job on one compiler process. Use once."""

    def __init__(self, submission: Submission, runner: RunnerProcess, cancel_fd: int) -> None:
        """Take the process; the caller closes it."""
        self._targets = submission.targets
        self._problem = submission.problem
        self._cases = [(case.groups, case.l) for case in submission.cases]
        self._clock = Clock(submission.limits)
        self._job_s = submission.limits.job_s
        self._runner = runner
        self._cancel_fd = cancel_fd
        self._kernels: list[CompiledKernel] = []
        self._artifacts: dict[str, bytes] = {}
        self._failures: dict[str, Failure] = {}
        self._review: tuple[Flag, ...] = ()

    def compile(self, source: bytes) -> Iterator[Progress | Compiled]:
        """Yield progress, and what was found last.

        Raises:
            RunnerFailed, Interrupted: see `worker.runner_process`.

        """
        yield Progress(stage="compiling")
        reports = HostPiece(len(self._targets) * REGION_BYTES)
        try:
            end = self._start(reports, source)
            for index, target in enumerate(self._targets):
                if isinstance(end, Answered):
                    end = self._answer(index + 1)
                self._note(target, end, read_report(reports.mapping, index))
        finally:
            reports.close()
        yield Compiled(
            summary_of(self._targets, self._kernels, self._failures),
            tuple(self._kernels),
            self._artifacts,
            joined(self._failures),
            self._review,
        )

    def _start(self, reports: HostPiece, source: bytes) -> End:
        capabilities = [divmod(int(re.sub(r"\D", "", target)), 10) for target in self._targets]
        wanted = {"problem": self._problem, "targets": capabilities, "cases": self._cases}
        with self._clock:
            end = self._runner.start_order(wanted, source, reports.fd, self._job_s, self._cancel_fd)
        if isinstance(end, Answered) and end.answer.status is Status.REVIEWED:
            self._review = from_text(end.answer.text)
        return end

    def _answer(self, token: int) -> End:
        _, limit_s = self._clock.limit("job_limit", self._job_s)
        with self._clock:
            return self._runner.answer(token, limit_s, self._cancel_fd)

    def _note(self, target: str, end: End, report: bytes) -> None:
        """Write down what became of a target."""
        died = isinstance(end, Answered) and end.answer.status is Status.SIGNALLED
        if died and self._runner.out_of_memory():
            # Not all control groups end a whole process tree: here its parent tells.
            end = Died(-signal.SIGKILL, out_of_memory=True)
        if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
            self._failures[target] = self._blamed(end)
        elif not report:
            words = "the process exited with status 0 while compiling"
            self._failures[target] = Failure("crashed", "exit", words)
        else:
            self._believe(target, report, end.answer.text)

    def _believe(self, target: str, report: bytes, compilers_words: str) -> None:
        """Take a report for what it says, where it is one."""
        try:
            found = Report.model_validate_json(report)
        except ValidationError:
            words = "the process reported what no honest one reports"
            self._failures[target] = Failure("rejected", "protocol", words)
            return
        if found.status is not Status.DONE:
            text = found.text
            if found.status is Status.COMPILER and compilers_words:
                text += f"\n\n{compilers_words}"
            end = Answered(Answer(0, found.status, text=text))
            self._failures[target] = self._blamed(end)
        self._keep(target, found.kernels)

    def _blamed(self, end: End) -> Failure:
        memory_bytes = self._runner.memory_bytes
        return blame(end, compiling=True, limit="job_limit", memory_bytes=memory_bytes)

    def _keep(self, target: str, kernels: Sequence[ReportedKernel]) -> None:
        texts = [text for kernel in kernels for text in (kernel.ptx, kernel.sass)]
        kept = iter(cut_to_share(texts, len(self._targets)))
        for number, kernel in enumerate(kernels):
            name = re.sub(r"[^A-Za-z0-9_]", "_", kernel.name)[:NAME_CHARACTERS]
            links = {kind: f"{target}-{number}-{name}.{kind}" for kind in ("ptx", "sass")}
            self._artifacts |= {link: next(kept).encode() for link in links.values()}
            facts = kernel.model_dump(exclude={"ptx", "sass"})
            self._kernels.append(CompiledKernel(**facts, target=target, links=links))


def summary_of(
    targets: Sequence[str], kernels: Sequence[CompiledKernel], failures: Mapping[str, Failure]
) -> str:
    """Say in a sentence what came out."""
    if failures:
        target, failure = next(iter(failures.items()))
        return f"{failure.outcome.replace('_', ' ')} for {target}: {failure.headline}"
    if not kernels:
        return "passed: no Triton kernel was launched, so nothing was compiled"
    total = len(kernels)
    spilling = sum(1 for kernel in kernels if kernel.spill_bytes)
    spills = f", {spilling} with spills" if spilling else ""
    return (
        f"passed: {total} {plural(total, 'kernel')} compiled for {', '.join(targets)}{spills}; "
        "nothing was run"
    )


def joined(failures: Mapping[str, Failure]) -> Failure | None:
    """Return the first failure, with the words of all; what targets have in common stands once."""
    if not failures:
        return None
    said: dict[str, list[str]] = {}
    for target, failure in failures.items():
        said.setdefault(failure.message, []).append(target)
    first = next(iter(failures.values()))
    message = "\n\n".join(f"{', '.join(targets)}: {text}" for text, targets in said.items())
    return Failure(first.outcome, first.reason, message)

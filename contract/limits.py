"""What a job may use, and what a request may ask for."""

from pydantic import BaseModel, ConfigDict

from contract.errors import InvalidSubmission, SourceTooLarge
from kernels.problem import Case, Problem


class Limits(BaseModel):
    """What a job may use. Resolved once at admission and carried with the job."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    import_s: float = 60
    """Seconds for importing the file, compilation at import included."""
    call_s: float = 30
    """Seconds for one call on a GPU."""
    emulated_call_s: float = 120
    """Seconds for one call on a worker without a GPU."""
    job_s: float = 300
    """Seconds for the whole job once a worker has it."""
    memory_bytes: int = 8 << 30
    """Memory of the process that runs the candidate."""
    log_bytes: int = 64 << 10
    """Bytes kept of each of stdout and stderr: half from the head, half from the tail."""


class RequestLimits(BaseModel):
    """What a request may ask for."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    groups: int = 1024
    """Groups of a case, and entries of a batch."""
    cases: int = 64
    extent: int = 65536
    """Largest m, n or k."""
    operand_bytes: int = 1 << 30
    """Operands, scales and outputs of one case."""
    job_operand_bytes: int = 2 << 30
    """The same of all cases of a job. Drawing and checking them takes the judge seconds a gigabyte
    and call: many large cases would end as `judge_overran`, and cost nothing."""
    source_bytes: int = 1_000_000

    def check_source(self, source: bytes) -> None:
        """Refuse a source that is too long.

        Raises:
            SourceTooLarge: over `source_bytes`.

        """
        if len(source) > self.source_bytes:
            raise SourceTooLarge(
                "source",
                f"at most {self.source_bytes} bytes are accepted, got {len(source)}",
                limit=self.source_bytes,
            )

    def check_cases(self, problem: Problem, cases: tuple[Case, ...]) -> None:
        """Refuse cases that are none of the problem, or over a limit.

        Raises:
            InvalidSubmission: naming the case, the limit and the value.

        """
        if len(cases) > self.cases:
            raise InvalidSubmission("cases", f"at most {self.cases} cases, got {len(cases)}")
        for index, case in enumerate(cases):
            self._check_case(problem, case, f"cases[{index}]")
        in_all = sum(map(problem.operand_bytes, cases))
        if in_all > self.job_operand_bytes:
            raise InvalidSubmission(
                "cases",
                f"operands, scales and outputs of all cases take {in_all} bytes, at most "
                f"{self.job_operand_bytes} are accepted: send some in a job of their own",
            )

    def _check_case(self, problem: Problem, case: Case, path: str) -> None:
        try:
            problem.check(case)
        except ValueError as error:
            name = str(error).partition(" ")[0]
            raise InvalidSubmission(f"{path}.{name}", str(error)) from None
        if len(case.m) > self.groups:
            raise InvalidSubmission(f"{path}.m", f"at most {self.groups} groups")
        if case.l > self.groups:
            raise InvalidSubmission(f"{path}.l", f"at most {self.groups}, got {case.l}")
        for name in ("m", "n", "k"):
            for group, value in enumerate(getattr(case, name)):
                if value > self.extent:
                    raise InvalidSubmission(
                        f"{path}.{name}[{group}]", f"at most {self.extent}, got {value}"
                    )
        operand_bytes = problem.operand_bytes(case)
        if operand_bytes > self.operand_bytes:
            raise InvalidSubmission(
                path,
                f"operands, scales and outputs take {operand_bytes} bytes, "
                f"at most {self.operand_bytes} are accepted",
            )

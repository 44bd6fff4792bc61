"""The job that other leaderboards hand their runners, and the job of ours that it asks for."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from contract.errors import InvalidSubmission
from contract.problem import Problem
from contract.submission import Mode, official_cases, problem_named
from service.compat.cases import CaseList, GivenCase, combined_seed, given_cases, spec_of
from service.field_errors import InvalidFields, checked
from service.job_request import JobRequest, Name
from service.request_body import SentJob

MODES: Mapping[str, Mode] = MappingProxyType(
    {
        "test": Mode.TEST,
        "benchmark": Mode.BENCHMARK,
        "leaderboard": Mode.RANKED,
        "private": Mode.RANKED,
        "profile": Mode.PROFILE,
    }
)
GROUPED = "nvfp4_group_gemm"
"""The one problem whose sizes are lists."""


class RunRequest(BaseModel):
    """A runner's job. Further members are accepted and have no part in judging."""

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, use_attribute_docstrings=True
    )

    lang: Literal["py"]
    sources: Annotated[dict[str, str], Field(min_length=1)]
    """Files by name. The submission is judged; evaluator, reference and their kin are not used."""
    submission: Name = "submission.py"
    """Which of the sources is the submission."""
    mode: Literal["test", "benchmark", "leaderboard", "private", "profile"]
    problem: Name | None = None
    """One of `/v1/problems`; may be left out where sizes are lists."""
    tests: CaseList | None = None
    """Lines of `key: value; ...`, as text or a list, or mappings. Not given: the official ones."""
    benchmarks: CaseList | None = None
    ranking_by: Literal["last", "mean", "geom"] | None = None
    """`last`: of the given benchmarks only the last one."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Combined with the seeds of cases. A ranked job has seeds that nobody knows instead."""
    test_timeout: PositiveInt | None = None
    """Seconds, as the next two: the one of the mode holds where the service's own limit is higher.
    """
    benchmark_timeout: PositiveInt | None = None
    ranked_timeout: PositiveInt | None = None
    multi_gpu: Literal[False] = False
    device: Name = "any"

    @classmethod
    def of(cls, fields: object) -> Self:
        """Check parsed JSON.

        Raises:
            InvalidFields: naming the path of each field that breaks a rule.

        """
        return checked(cls, fields)

    @property
    def ignored(self) -> Sequence[str]:
        """Files and members that have no part in judging."""
        files = [name for name in self.sources if name != self.submission]
        ranked = MODES[self.mode] is Mode.RANKED and self.seed is not None
        return [*files, *(self.model_extra or {}), *(["seed"] if ranked else [])]

    def timeout_s(self, mode: Mode) -> int | None:
        """Return the timeout that was given for a mode."""
        return {
            Mode.TEST: self.test_timeout,
            Mode.BENCHMARK: self.benchmark_timeout,
            Mode.RANKED: self.ranked_timeout,
        }.get(mode)


class Asked(NamedTuple):
    """A job of ours, and what its result has to say."""

    sent: SentJob
    specs: Sequence[str]
    """Its cases as text, in order."""
    tests: int
    """How many of the cases of a ranked job are tests."""


def asked_by(request: RunRequest, max_items: int) -> Asked:
    """Return the job that a request asks for.

    Raises:
        InvalidSubmission: naming the field.

    """
    source = request.sources.get(request.submission)
    if source is None:
        raise InvalidSubmission("sources", f"the submission `{request.submission}` is not there")
    tests = given_cases("tests", request.tests or (), max_items)
    benchmarks = given_cases("benchmarks", request.benchmarks or (), max_items)
    if request.ranking_by == "last":
        benchmarks = benchmarks[-1:]
    mode = MODES[request.mode]
    problem = _problem_of(request, [*tests, *benchmarks])
    cases: Sequence[GivenCase] = tests if mode is Mode.TEST else benchmarks
    if mode is Mode.RANKED:
        _check_ranked(request, problem, tests, benchmarks)
        cases = [*tests, *benchmarks]
    job: dict[str, object] = {
        "problem": problem.name,
        "mode": mode,
        "device": request.device,
        "filename": request.submission,
    }
    if cases and mode is not Mode.RANKED:
        job["cases"] = [_seeded(case.fields(problem), request.seed) for case in cases]
    official = [spec_of(problem, case) for case in official_cases(problem, mode)]
    return Asked(
        SentJob(_job_of(job, cases), source.encode(), request.timeout_s(mode)),
        [case.spec for case in cases] or official,
        len(problem.tests),
    )


def _job_of(fields: Mapping[str, object], cases: Sequence[GivenCase]) -> JobRequest:
    """Return the job, or say what is wrong by the names of the request.

    Raises:
        InvalidFields: naming the path of each field that breaks a rule.

    """
    try:
        return JobRequest.of(fields)
    except InvalidFields as error:
        ours = {f"cases[{place}]": case.path for place, case in enumerate(cases)}
        raise InvalidFields([(_renamed(path, ours), said) for path, said in error.errors]) from None


def _renamed(path: str, names: Mapping[str, str]) -> str:
    first, dot, rest = path.partition(".")
    return names.get(first, first) + dot + rest


def _problem_of(request: RunRequest, cases: Sequence[GivenCase]) -> Problem:
    if request.problem is not None:
        return problem_named(request.problem.lower())
    if cases and all(case.listed for case in cases):
        return problem_named(GROUPED)
    raise InvalidSubmission("problem", "required, but where cases are given whose sizes are lists")


def _check_ranked(
    request: RunRequest,
    problem: Problem,
    tests: Sequence[GivenCase],
    benchmarks: Sequence[GivenCase],
) -> None:
    """Refuse a ranking by other cases than everybody's."""
    if request.ranking_by == "last":
        raise InvalidSubmission("ranking_by", "all benchmarks are ranked by: `geom` or `mean`")
    if not tests and not benchmarks:
        return
    for field, given, official in (
        ("tests", tests, problem.tests),
        ("benchmarks", benchmarks, problem.benchmarks),
    ):
        if [_sizes(case.fields(problem)) for case in given] != [
            {"m": [*case.m], "n": [*case.n], "k": [*case.k], "l": case.l} for case in official
        ]:
            raise InvalidSubmission(
                field,
                f"mode `{request.mode}` runs the official cases of {problem.name}, in their order "
                "and under seeds that nobody knows; send those, or neither list",
            )


def _sizes(fields: Mapping[str, object]) -> Mapping[str, object]:
    return {"l": 1} | {name: value for name, value in fields.items() if name != "seed"}


def _seeded(fields: Mapping[str, object], seed: int | None) -> Mapping[str, object]:
    own = fields.get("seed")
    if seed is None or not isinstance(own, int):
        return fields
    return {**fields, "seed": combined_seed(own, seed)}

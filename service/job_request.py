"""The fields of a submission as a client sends them, and what they ask for."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from contract.errors import InvalidSubmission
from contract.limits import RequestLimits
from contract.problem import Case, Distribution, Problem
from contract.submission import Mode
from service.field_errors import checked, path_in

ONE_CASE = ("m", "n", "k", "l", "seed", "distribution", "poison_padding")
HEX_SEED = re.compile(r"(0x)?[0-9a-fA-F]{1,32}")
FILENAME = "submission.py"
FILENAME_CHARACTERS = 100

Name = Annotated[str, Field(max_length=100)]
SEED_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": 2**128 - 1},
        {"type": "string", "pattern": f"^{HEX_SEED.pattern}$"},
    ]
}
Seed = Annotated[int, WithJsonSchema(SEED_SCHEMA)]


class CandidateRequest(BaseModel):
    """What runs: a built-in kernel, or a file as text or as bytes in base64."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    kernel: Name | None = None
    source: str | None = None
    source_base64: str | None = None
    filename: str | None = None

    def sent_source(self, field: str = "") -> bytes | None:
        """Return the file that came inside the JSON, None where there is none.

        Raises:
            InvalidSubmission: two are given, or one is no base64; `field` begins the path.

        """
        path = f"{field}source_base64"
        if self.source_base64 is None:
            return None if self.source is None else self.source.encode()
        if self.source is not None:
            raise InvalidSubmission(path, "give `source` or `source_base64`, not both")
        try:
            return base64.b64decode(self.source_base64, validate=True)
        except ValueError as error:
            raise InvalidSubmission(path, f"not base64: {error}") from None


class CasesRequest(BaseModel):
    """What it runs on: cases of a problem, and a device."""

    model_config = CandidateRequest.model_config
    FILES: ClassVar[Mapping[str, Any]] = {"source": True, "source_base64": True}
    """Where files stand, in which a request may come in several forms."""

    problem: Name = "nvfp4_group_gemm"
    m: tuple[int, ...] | None = None
    """Rows of A of each group: 0 or more."""
    n: tuple[int, ...] | None = None
    """Rows of B of each group: 1 or more."""
    k: tuple[int, ...] | None = None
    """Elements along k of each group: a positive multiple of 16."""
    l: int | None = None  # noqa: E741
    """The batch, for problems without groups: 1 or more, 1 where it is not given."""
    seed: Seed | None = None
    """An integer, or up to 32 hexadecimal digits; drawn at random where none is given."""
    distribution: Distribution | None = None
    poison_padding: bool | None = None
    cases: tuple[Case, ...] | None = None
    device: Name = "any"
    callback_url: Annotated[str, Field(max_length=2000)] | None = None

    @classmethod
    def of(cls, fields: object) -> Self:
        """Check parsed JSON.

        Raises:
            InvalidFields: naming the path of each field that breaks a rule.

        """
        return checked(cls, _with_integer_seeds(fields))

    def given_cases(self) -> list[str]:
        """Return the fields that were given of those that say which cases run."""
        return [name for name in (*ONE_CASE, "cases") if getattr(self, name) is not None]

    def asked_cases(self, problem: Problem, limits: RequestLimits) -> tuple[Case, ...] | None:
        """Return the cases that were asked for, None where the official ones are.

        Raises:
            InvalidSubmission: both forms are used, one is incomplete, or a case breaks a limit.

        """
        given = [name for name in self.given_cases() if name != "cases"]
        if self.cases is not None:
            if given:
                raise InvalidSubmission(given[0], "give `m`, `n`, `k` or `cases`, not both")
            if not self.cases:
                raise InvalidSubmission("cases", "at least one case, or leave it out")
            limits.check_cases(problem, self.cases)
            return self.cases
        if not given:
            return None
        for name in ("m", "n", "k"):
            if name not in given:
                raise InvalidSubmission(name, f"required where `{given[0]}` is given")
        try:
            case = Case(**{name: getattr(self, name) for name in given})
            limits.check_cases(problem, (case,))
        except ValueError as error:
            raise InvalidSubmission(path_in(str(error)) or "m", str(error)) from None
        except InvalidSubmission as error:
            path = error.field.removeprefix("cases[0]").lstrip(".") or "m"
            raise InvalidSubmission(path, error.message) from None
        return (case,)

    def digest(self, *sources: bytes | None) -> str:
        """Return a digest of what was asked for, however it was sent."""
        fields = self.model_dump_json(exclude=dict(self.FILES), exclude_none=True)
        digest = hashlib.sha256(fields.encode())
        for source in sources:
            digest.update(b"\0" if source is None else b"\1%d:" % len(source) + source)
        return digest.hexdigest()


class JobRequest(CandidateRequest, CasesRequest):
    """A job as it is asked for. Sizes are integers and nothing else; unknown fields are refused.

    One case is `m`, `n` and `k`, each a list with one entry a group (and `l`, a batch, where the
    problem has no groups); several are `cases`; none are the official cases of the problem. What
    runs is a built-in `kernel` (`auto` where nothing is said) or a file: `source`, or its bytes as
    `source_base64`.
    """

    mode: Mode | None = None
    """Not given: `benchmark`, or `test` where no worker with a GPU is alive."""
    targets: tuple[Name, ...] | None = None
    """What mode `compile` compiles for; all targets where none are given."""


class ComparisonRequest(CasesRequest):
    """A comparison as it is asked for: `a` and `b`, on the same cases and the same worker.

    Cases are given as in a job; none are the official benchmarks of the problem.
    """

    FILES = {"a": CasesRequest.FILES, "b": CasesRequest.FILES}
    mode: ClassVar = Mode.COMPARE
    targets: ClassVar = None

    a: CandidateRequest
    """What is there, say."""
    b: CandidateRequest
    """What is to replace it."""


def safe_filename(name: str | None) -> str:
    """Return the last part of `name` in letters, digits, `.`, `_` and `-`; never a hidden file."""
    last = re.split(r"[/\\]", name or "")[-1]
    letters = unicodedata.normalize("NFKD", last).encode("ascii", "ignore").decode("ascii")
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", letters)
    stem, dot, suffix = safe.rpartition(".") if "." in safe else (safe, "", "")
    if not stem.strip("._-"):
        return FILENAME
    suffix = (dot + suffix)[: FILENAME_CHARACTERS // 4]
    return stem.lstrip("._-")[: FILENAME_CHARACTERS - len(suffix)] + suffix


def _with_integer_seeds(fields: object) -> object:
    """Return the fields with hexadecimal seeds as integers: JSON integers stop at 2^53 for many."""
    if not isinstance(fields, dict):
        return fields
    fields = dict(fields)
    if isinstance(fields.get("seed"), str):
        fields["seed"] = _integer_seed("seed", fields["seed"])
    if isinstance(fields.get("cases"), list):
        fields["cases"] = [
            {**case, "seed": _integer_seed(f"cases[{index}].seed", case["seed"])}
            if isinstance(case, dict) and isinstance(case.get("seed"), str)
            else case
            for index, case in enumerate(fields["cases"])
        ]
    return fields


def _integer_seed(field: str, text: str) -> int:
    if not HEX_SEED.fullmatch(text):
        raise InvalidSubmission(field, "must be an integer or up to 32 hexadecimal digits")
    return int(text, 16)

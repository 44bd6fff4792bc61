"""Cases as task files write them, `m: [96, 128]; n: [128, 256]; seed: 1111`, as fields of ours."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contract.errors import InvalidSubmission
from contract.problem import Case, Problem
from contract.verdict import CaseResult
from service.strict_json import MalformedJson, loads

SIZES = ("m", "n", "k")
CaseList = str | tuple[str | dict[str, object], ...]
"""A case file as text, or its lines, or cases as mappings."""


class GivenCase(NamedTuple):
    """One case that came with a request."""

    path: str
    """Where it stands in the request."""
    spec: str
    """Its text as it came: results repeat it."""
    values: Mapping[str, object]

    @property
    def listed(self) -> bool:
        """Whether its sizes are lists, one entry a group."""
        return isinstance(self.values.get("m"), list)

    def fields(self, problem: Problem) -> Mapping[str, object]:
        """Return what `cases[]` of a job of ours takes.

        Raises:
            InvalidSubmission: the number of groups is not that of the lists.

        """
        values = dict(self.values)
        groups, m = values.pop("g", None), values.get("m")
        if groups is not None and isinstance(m, list) and groups != len(m):
            raise InvalidSubmission(f"{self.path}.g", f"{groups} groups, but {len(m)} entries of m")
        if problem.vector:
            values.setdefault("n", 1)
        if not problem.grouped:
            values |= {name: [values[name]] for name in SIZES if isinstance(values.get(name), int)}
        return values


def spec_of(problem: Problem, case: Case | CaseResult) -> str:
    """Return a case as task files write it: `m: [96, 128]; n: [128, 256]; k: [256, 512]; g: 2`."""
    sizes: dict[str, object] = {name: list(getattr(case, name)) for name in SIZES}
    if problem.grouped:
        return _text(sizes | {"g": len(case.m)})
    names = [name for name in SIZES if name != "n" or not problem.vector]
    return _text({name: getattr(case, name)[0] for name in names} | {"l": case.l})


def given_cases(field: str, cases: CaseList, max_items: int) -> Sequence[GivenCase]:
    """Read the cases of a request.

    Raises:
        InvalidSubmission: naming the entry and what is wrong with it.

    """
    lines: Sequence[str | dict[str, object]] = cases if isinstance(cases, tuple) else _lines(cases)
    return [_case(f"{field}[{place}]", line, max_items) for place, line in enumerate(lines)]


def combined_seed(case: int, secret: int) -> int:
    """Return the seed of a case under the seed of a run, as runners combine them: a pairing."""
    both = case + secret
    return case + both * (both + 1) // 2


def _case(path: str, line: str | Mapping[str, object], max_items: int) -> GivenCase:
    if isinstance(line, str):
        return GivenCase(path, line.strip(), _values(path, line, max_items))
    return GivenCase(path, _text(line), line)


def _text(values: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def _lines(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.strip()]


def _values(path: str, line: str, max_items: int) -> dict[str, object]:
    values: dict[str, object] = {}
    for part in filter(str.strip, line.split(";")):
        name, _, text = (each.strip() for each in part.partition(":"))
        if name in values:
            raise InvalidSubmission(f"{path}.{name}", "given twice")
        try:
            values[name] = loads(text.encode(), max_items)
        except MalformedJson:
            raise InvalidSubmission(
                path, f"must be `key: value; key: value` with integers or lists, got {part!r}"
            ) from None
    return values

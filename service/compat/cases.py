"""Cases as task files write them, `m: [96, 128]; n: [128, 256]; seed: 1111`, as fields of ours."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contract.errors import InvalidSubmission
from service.strict_json import MalformedJson, loads

GROUPS = "g"
"""How many groups there are: said by the lists as well, so it is checked and left out."""
CaseList = str | tuple[str | dict[str, object], ...]
"""A case file as text, or its lines, or cases as mappings."""


class GivenCase(NamedTuple):
    """One case that came with a request."""

    spec: str
    """Its text as it came: results repeat it."""
    fields: Mapping[str, object]
    """What `cases[]` of a job of ours takes."""

    @property
    def sizes(self) -> Mapping[str, object]:
        """The fields without the seed."""
        return {name: value for name, value in self.fields.items() if name != "seed"}


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
        spec, values = line.strip(), _values(path, line, max_items)
    else:
        spec, values = "; ".join(f"{name}: {value}" for name, value in line.items()), dict(line)
    groups, m = values.pop(GROUPS, None), values.get("m")
    if groups is not None and isinstance(m, list) and groups != len(m):
        raise InvalidSubmission(f"{path}.{GROUPS}", f"{groups} groups, but {len(m)} entries of m")
    return GivenCase(spec, values)


def _lines(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.strip()]


def _values(path: str, line: str, max_items: int) -> dict[str, object]:
    values: dict[str, object] = {}
    for part in filter(str.strip, line.split(";")):
        name, _, text = part.partition(":")
        try:
            values[name.strip()] = loads(text.strip().encode(), max_items)
        except MalformedJson:
            raise InvalidSubmission(
                path, f"must be `key: value; key: value` with integers or lists, got {part!r}"
            ) from None
    return values

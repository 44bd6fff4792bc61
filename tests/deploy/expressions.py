"""What expressions of Prometheus name: metrics, labels that are matched, labels that are kept."""

import re
from dataclasses import dataclass

SELECTOR = re.compile(r"\b(halfbyte_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
KEPT = re.compile(r"\bby \(([^)]*)\)")


@dataclass(frozen=True)
class Selector:
    """A metric, and what is asked of its labels: label, operator, value."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]


def selectors(expression: str) -> list[Selector]:
    return [
        Selector(metric, tuple(MATCHER.findall(matchers)))
        for metric, matchers in SELECTOR.findall(expression)
    ]


def kept(expression: str) -> set[str]:
    """The labels that are grouped by."""
    return {label.strip() for labels in KEPT.findall(expression) for label in labels.split(",")}

"""Options that several commands share, written once: a dataclass is a group of options."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


def grouped(command: Callable[..., T]) -> Callable[..., T]:
    """Return the command with the fields of its dataclass parameters as options of its own.

    typer reads options from the signature of a function. So the signature shows the fields, and a
    call puts them together again: `url` and `key` arrive as one `Service(url, key)`.
    """
    own = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in own if is_dataclass(each.annotation)
    }
    shown = [
        option
        for each in own
        for option in (_members(groups[each.name]) if each.name in groups else (each,))
    ]

    @wraps(command)
    def called(**given: object) -> T:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([each.replace(kind=keyword) for each in shown])
    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in shown}
    return called


def _members(group: type) -> Iterable[inspect.Parameter]:
    return inspect.signature(group).parameters.values()

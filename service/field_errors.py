"""Which fields of a request break a rule, by path and in our words."""

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from contract.errors import InvalidSubmission

MAX_ERRORS = 20
Model = TypeVar("Model", bound=BaseModel)


class InvalidFields(InvalidSubmission):
    """Several fields break a rule at once."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        """Carry `(field, message)` of each; the first speaks for all."""
        super().__init__(*errors[0])
        self.errors = errors


def checked(model: type[Model], fields: object) -> Model:
    """Read parsed JSON as a model.

    Raises:
        InvalidFields: naming the path of each field that breaks a rule.

    """
    try:
        return model.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        raise InvalidFields(plain_errors(error.errors(include_url=False))) from None


def fields_in(error: InvalidSubmission) -> Sequence[tuple[str, str]]:
    """Return `(field, message)` of each field that a refusal names."""
    return error.errors if isinstance(error, InvalidFields) else [(error.field, error.message)]


def plain_errors(details: Sequence[ErrorDetails]) -> list[tuple[str, str]]:
    """Return the path and our words for each field that pydantic complains of.

    The branches of a union are one field: it may be this or that.
    """
    said: dict[str, list[str]] = {}
    for path, message in map(_plain, details[:MAX_ERRORS]):
        said.setdefault(path, []).append(message)
    return [
        (path, " or ".join(messages))
        for path, messages in said.items()
        if not any(other.startswith(f"{path}.") for other in said if path)
    ]


def _plain(error: ErrorDetails) -> tuple[str, str]:
    path = _path(error["loc"])
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    match error["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            return path, "unknown field"
        case "missing":
            return path, "required"
        case "int_type" | "int_from_float" | "int_parsing":
            return path, "must be an integer"
        case "json_invalid":  # what stands for a path there is a place in the bytes
            return "", "not JSON: " + message
        case "value_error" if inner := path_in(message):
            return f"{path}.{inner}", message
    return path, message


def _path(loc: tuple[int | str, ...]) -> str:
    """Return `cases[0].m[1]` for ("cases", 0, "m", 1), without the tags of unions."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in ("ConstantOperands", "int") and "[" not in part:
            path += f".{part}" if path else part
    return path


def path_in(message: str) -> str | None:
    """Return the path that a sentence of the ground starts with: `k[0] must be ...`."""
    found = re.match(r"([a-z_.]+(\[\d+\])?) must ", message)
    return found and found.group(1)

"""Cases as they are typed: `--m 96,128 --n 128,256 --k 256,512`, or a JSON file."""

import json
from pathlib import Path
from typing import cast

from client.errors import UsageError
from client.wire import CaseRequest

SEED_DIGITS = 32


def typed_cases(
    sizes: dict[str, str | None], seed: str | None, batch: int | None = None
) -> list[CaseRequest]:
    """Return the one case of `m`, `n` and `k` as typed, or none where none of them was.

    Raises:
        UsageError: naming the option and what is wrong with it.

    """
    given = {name: _integers(name, text) for name, text in sizes.items() if text is not None}
    if not given:
        if seed is not None:
            raise UsageError("--seed goes with --m, --n and --k")
        if batch is not None:
            raise UsageError("--l goes with --m, --n and --k")
        return []
    missing = " and ".join(f"--{name}" for name in sizes if name not in given)
    if missing:
        raise UsageError(f"--m, --n and --k go together; not given: {missing}")
    case = cast(CaseRequest, given)
    if batch is not None:
        case["l"] = batch
    if seed is not None:
        case["seed"] = _seed(seed)
    return [case]


def read_cases(path: Path) -> list[CaseRequest]:
    """Read a list of cases, one case, or a request body that has `cases` or `m`, `n` and `k`.

    Raises:
        UsageError: the file cannot be read, or is none of these.

    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a JSON file with cases") from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from error
    if isinstance(content, dict):
        content = content.get("cases") or [_case_of(content)]
    if not (isinstance(content, list) and content and all(isinstance(c, dict) for c in content)):
        raise UsageError(f'{path}: expected [{{"m": [..], "n": [..], "k": [..]}}, ..]')
    return content


def _case_of(body: dict[str, object]) -> dict[str, object]:
    return {name: body[name] for name in CaseRequest.__annotations__ if name in body}


def _integers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise UsageError(f"--{name} takes integers, one a group: 96,128; got {text!r}") from None


def _seed(text: str) -> int:
    try:
        return int(text, 16 if len(text) == SEED_DIGITS else 0)
    except ValueError:
        raise UsageError(
            f"--seed takes {SEED_DIGITS} hexadecimal digits as a verdict shows them, "
            f"or an integer; got {text!r}"
        ) from None

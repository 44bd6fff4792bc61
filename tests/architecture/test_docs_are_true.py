"""Every setting, call, outcome and command is in the docs, and make words of the README exist."""

import re
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

from client.main import app as commands
from contract import prelude
from contract.problem import PROBLEMS
from contract.settings import QueueSettings
from contract.submission import Mode
from contract.verdict import VERDICT
from service.app import create_app
from service.settings import ServiceSettings
from worker.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
DOCS = {path.stem: path.read_text() for path in (ROOT / "docs").glob("*.md")}
README = (ROOT / "README.md").read_text()


def names(settings: type, prefix: str = "") -> list[str]:
    """Environment names of a settings class, nested ones with two underscores."""
    found = []
    fields = getattr(settings, "model_fields", None) or settings.__dataclass_fields__
    for name, field in fields.items():
        kind = getattr(field, "annotation", None) or field.type
        nested = isinstance(kind, type) and (
            issubclass(kind, BaseModel) or hasattr(kind, "__dataclass_fields__")
        )
        path = f"{prefix}{name.upper()}"
        found += names(kind, f"{path}__") if nested else [path]
    return found


def test_every_key_of_redis_is_in_the_map_of_keys() -> None:
    scripts = "".join(path.read_text() for path in (ROOT / "contract").glob("*.py"))
    used = set(re.findall(r"key\('([a-z_]+)'", scripts))
    assert {"job", "leases", "bell"} <= used
    assert used - set(re.findall("[a-z_]+", prelude.__doc__ or "")) == set()


@pytest.mark.parametrize("settings", [ServiceSettings, WorkerSettings, QueueSettings])
def test_every_setting_is_documented(settings: type) -> None:
    text = DOCS["operating"]
    wanted = names(settings)
    if settings is WorkerSettings:  # the limits of a job are written out once, for the service
        wanted = [name for name in wanted if not name.startswith("LIMITS__")] + ["LIMITS__..."]
    missing = [name for name in wanted if f"`{name}`" not in text]
    assert missing == []


def test_every_call_is_documented() -> None:
    missing = [
        f"{method.upper()} {path}"
        for path, methods in create_app(ServiceSettings(), QueueSettings())
        .openapi()["paths"]
        .items()
        for method in methods
        if f"{method.upper()} {path.replace('{job_id}', '{id}')}" not in DOCS["api"]
    ]
    assert missing == []


def test_every_problem_is_documented_with_its_kernels() -> None:
    for page in (DOCS["problems"], DOCS["api"]):
        assert [name for name in PROBLEMS if f"`{name}`" not in page] == []
    for problem in PROBLEMS.values():
        assert f"`{' '.join(problem.kernels)}`" in DOCS["problems"]
        assert problem.equation.partition(" for every ")[0] in DOCS["problems"]


def test_every_outcome_and_mode_is_documented() -> None:
    outcomes = VERDICT.json_schema()["discriminator"]["mapping"]
    assert [outcome for outcome in outcomes if f"`{outcome}`" not in README] == []
    assert [mode for mode in Mode if f"`{mode}`" not in DOCS["api"]] == []


def command_names(group: typer.Typer, prefix: str = "") -> list[str]:
    """All commands, those of groups with the names of the groups before them."""
    own = [prefix + (each.name or each.callback.__name__) for each in group.registered_commands]
    nested = [
        command_names(each.typer_instance, f"{prefix}{each.name} ")
        for each in group.registered_groups
    ]
    return own + [name for names in nested for name in names]


def test_every_command_is_documented() -> None:
    everything = README + "".join(DOCS.values()) + (ROOT / "CHANGELOG.md").read_text()
    names = command_names(commands)
    assert "admin key create" in names
    missing = [
        name
        for name in names
        if f"`{name}`" not in everything and f"halfbyte {name}" not in everything
    ]
    assert missing == []


def test_the_make_words_of_the_docs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    words = set(re.findall(r"(?:`|^)make ([a-z-]+)", README + "".join(DOCS.values()), re.MULTILINE))
    assert {"demo", "test"} <= words
    assert [word for word in words if f"\n{word}:" not in makefile] == []


def test_every_package_and_page_is_in_the_readme() -> None:
    for package in ("client", "service", "worker", "contract", "kernels", "bench", "examples"):
        assert f"{package}/" in README
    assert [page for page in DOCS if f"docs/{page}.md" not in README] == []

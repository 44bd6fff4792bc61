"""docker/Dockerfile as data: stages of instructions. And .dockerignore, where `*` comes first."""

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.docker import ROOT

DOCKERFILE = ROOT / "docker/Dockerfile"


@dataclass(frozen=True)
class Instruction:
    """`word` in capitals, `rest` as written, on one line."""

    word: str
    rest: str

    @property
    def argv(self) -> list[str] | None:
        """The exec form, None where it is the shell form."""
        return json.loads(self.rest) if self.rest.startswith("[") else None


@dataclass(frozen=True)
class Stage:
    name: str
    base: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, word: str) -> list[Instruction]:
        return [each for each in self.instructions if each.word == word]

    def last(self, word: str) -> Instruction:
        return self.all(word)[-1]


def read_stages() -> tuple[dict[str, str], dict[str, Stage]]:
    """Return the arguments before the first stage, and the stages by name, bases filled in."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for line in filter(None, re.sub(r"\\\n\s*", "", text).splitlines()):
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            base, _, name = rest.split()
            for key, value in arguments.items():
                base = base.replace("${" + key + "}", value)
            stage = stages[name] = Stage(name, base)
        elif stage is None:
            assert word == "ARG"
            key, value = rest.split("=", 1)
            arguments[key] = value
        else:
            stage.instructions.append(Instruction(word, rest))
    return arguments, stages


def in_context(path: Path) -> bool:
    """Whether .dockerignore lets a file of the repository into a build."""
    relative = path.relative_to(ROOT)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    kept = False
    for pattern in patterns[1:]:
        wanted = pattern.removeprefix("!").rstrip("/")
        if any(matches(part, wanted) for part in (relative, *relative.parents)):
            kept = pattern.startswith("!")
    return kept


def matches(path: Path, pattern: str) -> bool:
    anywhere = pattern.removeprefix("**/")
    return fnmatch(path.name, anywhere) if anywhere != pattern else str(path) == pattern

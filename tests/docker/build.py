"""Follow the instructions of a stage in a folder, as far as a machine without an engine can.

COPY, WORKDIR and RUN happen, with absolute paths moved into the folder; a fresh environment stands
in for the base image's Python. What changes the image's own system is left out: users, and packages
of the distribution.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.docker import ROOT
from tests.docker.dockerfile import Stage, in_context

OF_THE_SYSTEM = ("useradd ", "apt-get ")
TOP = re.compile(r"(?<![\w./])/(?=(?:opt|src|wheel)\b)")
BUILD_S = 240


@dataclass
class Built:
    """A stage's file system below a folder."""

    root: Path
    base: Path
    """An environment in place of the base image's Python."""
    workdir: Path = field(init=False)
    path: str = field(init=False)

    def __post_init__(self) -> None:
        self.workdir = self.root
        self.path = f"{self.base / 'bin'}:/usr/bin:/bin"

    def inside(self, text: str) -> str:
        """Move the absolute paths of a text below the folder."""
        return TOP.sub(f"{self.root}/", text)

    @property
    def environment(self) -> dict[str, str]:
        """How pip finds its index here, and nothing else of ours."""
        ours = {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL"))
        }
        return {**ours, "PATH": self.path, "HOME": str(self.root)}

    def command(self, argv: list[str]) -> list[str]:
        """Find the program as an image would, in its PATH."""
        program = shutil.which(argv[0], path=self.path)
        assert program is not None, f"{argv[0]} is nowhere in {self.path}"
        return [program, *argv[1:]]


def make_base(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


def build(stage: Stage, root: Path, base: Path, others: dict[str, Built]) -> Built:
    built = Built(root, base)
    for each in stage.instructions:
        match each.word:
            case "WORKDIR":
                built.workdir = Path(built.inside(each.rest))
                built.workdir.mkdir(parents=True, exist_ok=True)
            case "ENV":
                name, value = each.rest.split("=", 1)
                assert name == "PATH"
                built.path = built.inside(value).replace("${PATH}", built.path)
            case "COPY":
                copy(each.rest.split(), built, others)
            case "RUN" if not each.rest.startswith(OF_THE_SYSTEM):
                subprocess.run(
                    ["sh", "-c", built.inside(each.rest)],
                    cwd=built.workdir,
                    env=built.environment,
                    check=True,
                    timeout=BUILD_S,
                )
    return built


def copy(words: list[str], built: Built, others: dict[str, Built]) -> None:
    """COPY: files of the context, or of an earlier stage."""
    *sources, target = (word for word in words if not word.startswith("--"))
    into = built.workdir / target
    for source in sources:
        if words[0].startswith("--from="):
            other = others[words[0].removeprefix("--from=")]
            shutil.copytree(other.inside(source), into, dirs_exist_ok=True)
            continue
        found = ROOT / source
        for file in [found] if found.is_file() else found.rglob("*"):
            if file.is_file() and in_context(file):
                place = into / (file.name if found.is_file() else file.relative_to(found))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)

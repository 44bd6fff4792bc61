"""Print what an image has to install: the project's dependencies, and those of the extras named.

Read from pyproject.toml in the working directory, so that images need no list of their own. Without
torch, which is installed before the others: see the Dockerfile.
"""

import re
import sys
import tomllib
from pathlib import Path

EARLIER = "torch"


def main() -> None:
    """Write one requirement a line."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in sys.argv[1:]:
        requirements += project["optional-dependencies"][extra]
    for requirement in requirements:
        if re.split(r"[^\w.-]", requirement)[0] != EARLIER:
            sys.stdout.write(f"{requirement}\n")


if __name__ == "__main__":
    main()

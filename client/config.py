"""What is set once and meant every time: address, key, device, problem.

Flags come before everything here, then the environment (`HALFBYTE_URL`, ...), then `halfbyte.toml`
of the project (this folder or the nearest above it), then `~/.config/halfbyte/config.toml`.
"""

import logging
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from client.environment import config_home, set_here
from client.errors import UsageError
from client.terminal import plain

LOCAL = "http://127.0.0.1:8000"
FIELDS = ("url", "key", "device", "problem")
PROJECT_FILE = "halfbyte.toml"
READABLE_BY_OTHERS = 0o044
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place sets. `path` is the file, None for the environment."""

    values: Mapping[str, str]
    path: Path | None = None

    def is_for(self, url: str) -> bool:
        """Whether it names this address."""
        return self.values.get("url", LOCAL).rstrip("/") == url.rstrip("/")

    @property
    def of_project(self) -> bool:
        """Whether whoever wrote the project wrote this, and not whoever works in it."""
        return self.path is not None and self.path.name == PROJECT_FILE


@dataclass(frozen=True, slots=True)
class Config:
    """All layers, the one that wins first."""

    layers: tuple[Layer, ...]

    def value(self, field: str) -> str | None:
        """Return what is set, None where nothing is."""
        found = (layer.values[field] for layer in self.layers if field in layer.values)
        return next(found, None)

    @property
    def url(self) -> str:
        """Where the service is, on this machine where nothing is set."""
        return self.value("url") or LOCAL

    def key_for(self, url: str) -> str | None:
        """Return the key to show to a service.

        A key of a file is for the `url` of that file, one of the environment for any address that
        is not a project's alone: a project that somebody else wrote must not have one's own key
        sent to an address of its choice.
        """
        for layer in self.layers:
            if key := layer.values.get("key"):
                if layer.is_for(url) or (layer.path is None and not self._is_a_projects(url)):
                    return key
                if layer.path is None:
                    said = "the key of the environment is not shown to %s: set HALFBYTE_URL to it"
                    log.warning(said, plain(url))
                    continue
                names = (plain(str(part)) for part in (layer.path, layer.values.get("url", LOCAL)))
                log.warning("the key of %s is for %s, and not shown to %s", *names, plain(url))
        return None

    def _is_a_projects(self, url: str) -> bool:
        """Whether a project names an address, and nothing else does."""
        naming = [layer for layer in self.layers if "url" in layer.values and layer.is_for(url)]
        return bool(naming) and all(layer.of_project for layer in naming)


def load() -> Config:
    """Read the environment and the files there are.

    Raises:
        UsageError: naming the file, and the field that is wrong.

    """
    environment = {
        name: value for name in FIELDS if (value := set_here(f"HALFBYTE_{name.upper()}"))
    }
    files = (Layer(_read(path), path) for path in _files())
    return Config((Layer(environment), *files))


def _files() -> Iterator[Path]:
    here = Path.cwd()
    projects = (folder / PROJECT_FILE for folder in (here, *here.parents))
    project = next((path for path in projects if path.is_file()), None)
    if project:
        yield project
    own = config_home() / "halfbyte" / "config.toml"
    if own.is_file():
        yield own


def _read(path: Path) -> Mapping[str, str]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    for field, value in content.items():
        if field not in FIELDS:
            raise UsageError(f"{path}: {field}: unknown field; known: {', '.join(FIELDS)}")
        if not isinstance(value, str) or not value:
            raise UsageError(f'{path}: {field}: must be text in quotes: {field} = "..."')
    if "key" in content and path.stat().st_mode & READABLE_BY_OTHERS:
        said = plain(str(path))
        log.warning(
            "%s has a key, and others on this machine can read it: chmod 600 %s", said, said
        )
    return content

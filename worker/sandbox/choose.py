"""The best sandbox that this machine allows, tried out before anything runs in it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from worker.sandbox.confinement import Sandbox, SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import Namespaces, build_level_1, build_level_2
from worker.sandbox.selftest import prove
from worker.sandbox.unconfined import NOTHING, Unconfined

LEVELS: Final[tuple[tuple[int, Callable[[SandboxSettings], Namespaces]], ...]] = (
    (2, build_level_2),
    (1, build_level_1),
)

log = logging.getLogger("halfbyte.sandbox")


def choose(settings: SandboxSettings, environment: Mapping[str, str]) -> Sandbox:
    """Return the highest level that passes its test here, in some seconds.

    `environment` is what runners get. The description of the result says why it is not higher.

    Raises:
        SandboxUnavailable: nothing from the minimum level on works; says why, and what to change.

    """
    reasons: list[str] = []
    for level, build in LEVELS:
        if level < settings.minimum_level:
            continue
        try:
            sandbox = build(settings)
            prove(sandbox, environment, tolerated=(), gpu=bool(settings.gpu_minors))
        except SandboxUnavailable as error:
            log.warning("sandbox level %d is not available: %s", level, error)
            reasons.append(f"not level {level}: {error}")
        else:
            return replace(sandbox, description="; ".join((sandbox.description, *reasons)))
    if settings.minimum_level == 0:
        return Unconfined("; ".join((NOTHING, *reasons)))
    raise SandboxUnavailable(
        f"no sandbox of level {settings.minimum_level} or higher. "
        + "; ".join([*reasons, *namespace_hints()])
    )


def namespace_hints() -> list[str]:
    """Return what on this machine is known to forbid namespaces, and how to allow them."""
    hints = [
        f"{file} is {value}: sysctl -w {file.removeprefix('/proc/sys/').replace('/', '.')}={wanted}"
        for file, bad, wanted in (
            ("/proc/sys/kernel/unprivileged_userns_clone", "0", "1"),
            ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
            ("/proc/sys/user/max_user_namespaces", "0", "10000"),
        )
        if (value := _read(file)) == bad
    ]
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        hints.append(
            "in a container, start it with --security-opt seccomp=unconfined --security-opt "
            "apparmor=unconfined --security-opt systempaths=unconfined (candidates have a filter "
            "of their own), and not with --privileged"
        )
    return hints


def _read(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError:
        return ""

"""The best sandbox that this machine allows, tried out before anything runs in it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Final

from worker.sandbox.confinement import Sandbox, SandboxSettings, SandboxUnavailable
from worker.sandbox.landlock import Landlocked, build_landlock
from worker.sandbox.namespaces import Namespaces, build_level_1, build_level_2
from worker.sandbox.selftest import prove
from worker.sandbox.unconfined import NOTHING, Unconfined

Build = Callable[[SandboxSettings], Namespaces | Landlocked]
WAYS: Final[tuple[tuple[int, str, Build], ...]] = (
    (2, "level 2", build_level_2),
    (1, "level 1 with namespaces", build_level_1),
    (1, "level 1 with Landlock", build_landlock),
)

REASON_CHARACTERS: Final = 160
"""Of the reason in a description, which stands in every verdict."""

log = logging.getLogger("halfbyte.sandbox")


def choose(settings: SandboxSettings, environment: Mapping[str, str]) -> Sandbox:
    """Return the highest level that passes its test here, in some seconds.

    `environment` is what runners get. The description of the result says why it is not higher, in
    short; the log says more.

    Raises:
        SandboxUnavailable: nothing from the minimum level on works; says why, and what to change.

    """
    reasons: list[str] = []
    for level, way, build in WAYS:
        if level < settings.minimum_level:
            continue
        try:
            sandbox = build(settings)
            gpu = bool(settings.gpu_minors)
            prove(sandbox, environment, sandbox.open_to, gpu=gpu, cpu=sandbox.limits_cpu)
        except SandboxUnavailable as error:
            log.warning("sandbox: not %s: %s", way, error)
            reasons.append(f"not {way}: {error}")
        else:
            return replace(sandbox, description=_described(sandbox.description, reasons))
    if settings.minimum_level == 0:
        return Unconfined(_described(NOTHING, reasons))
    raise SandboxUnavailable(
        f"no sandbox of level {settings.minimum_level} or higher. "
        + "; ".join([*reasons, *namespace_hints()])
    )


def _described(made_of: str, reasons: list[str]) -> str:
    return "; ".join([made_of, *(shorten(reason, REASON_CHARACTERS) for reason in reasons[:1])])


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
            "in a container, start it with --security-opt seccomp=docker/seccomp-worker.json or "
            "seccomp=unconfined, --security-opt "
            "apparmor=unconfined --security-opt systempaths=unconfined (candidates have a filter "
            "of their own), and not with --privileged"
        )
    return hints


def _read(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError:
        return ""

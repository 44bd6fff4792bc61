"""The worker's seccomp profile: all that bubblewrap needs, and nothing that it does not need.

No engine takes part: a small jail loads the profile as an engine does, drops every capability, and
becomes bubblewrap, started as the worker starts it.
"""

import copy
import ctypes.util
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker import ROOT
from worker.sandbox import bubblewrap
from worker.sandbox.confinement import Confined, Launch, SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import NamespaceProcess
from worker.sandbox.selftest import start_trial
from worker.sandbox.visible import find_visible

PROFILE = json.loads((ROOT / "docker/seccomp-worker.json").read_text())
JAIL = Path(__file__).with_name("jail.py")
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
LOOK = """
import json, os, socket
import worker.runner
print(json.dumps({
    "host": socket.gethostname(),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
}))
"""
NAMESPACE_FLAGS = 0x7E020000
OF_THE_MACHINE = (
    *("acct", "add_key", "bpf", "chroot", "clock_settime", "delete_module", "finit_module"),
    *("fsmount", "fsopen", "init_module", "io_uring_setup", "ioperm", "iopl", "kcmp"),
    *("kexec_file_load", "kexec_load", "keyctl", "mount_setattr", "move_mount"),
    *("open_by_handle_at", "open_tree", "perf_event_open", "quotactl", "reboot", "request_key"),
    *("setns", "settimeofday", "swapon", "syslog", "userfaultfd", "vhangup"),
)

pytestmark = pytest.mark.skipif(
    ctypes.util.find_library("seccomp") is None, reason="no libseccomp to compile the profile with"
)


class NoGuard:
    """Nothing watches the memory of these trials."""

    def out_of_memory(self) -> bool:
        return False

    def remove(self) -> None:
        pass


@dataclass
class Jailed:
    """bubblewrap under a profile, without capabilities."""

    profile: Path
    level = 1
    description = "bubblewrap in a jail"

    def start(self, launch: Launch) -> Confined:
        settings = SandboxSettings()
        args = bubblewrap.arguments(find_visible(), settings, {})
        command = [sys.executable, str(JAIL), str(self.profile)]
        command.append(str(bubblewrap.find_bubblewrap().program))
        limits = bubblewrap.limits(settings)
        started = bubblewrap.start(command, args, launch, os.geteuid(), limits)
        return NamespaceProcess(started, NoGuard(), None)


def jailed(profile: dict, folder: Path) -> Jailed:
    (folder / "profile.json").write_text(json.dumps(profile))
    return Jailed(folder / "profile.json")


def without(call: str) -> dict:
    """The profile with a call taken from what bubblewrap is given; clone only as Docker has it."""
    profile = copy.deepcopy(PROFILE)
    profile["syscalls"][0]["names"].remove(call)
    if call == "clone":
        plain = {"index": 0, "value": NAMESPACE_FLAGS, "op": "SCMP_CMP_MASKED_EQ"}
        allow = {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]}
        profile["syscalls"].append(allow)
    return profile


def test_the_runner_starts_under_the_profile_in_namespaces_of_its_own(tmp_path: Path) -> None:
    trial = start_trial(
        jailed(PROFILE, tmp_path), (sys.executable, "-I", "-c", LOOK), ENVIRONMENT, 8 << 30
    )
    ended = trial.end(60)
    assert (ended.status, ended.stderr) == (0, "")
    assert json.loads(ended.stdout) == {"host": "sandbox", "processes": 2, "interfaces": ["lo"]}


@pytest.mark.parametrize("call", PROFILE["syscalls"][0]["names"])
def test_bubblewrap_does_not_start_without_any_one_of_its_calls(call: str, tmp_path: Path) -> None:
    try:
        trial = start_trial(jailed(without(call), tmp_path), ("/bin/true",), ENVIRONMENT, 1 << 30)
    except SandboxUnavailable:
        return
    assert trial.end(20).status != 0


def test_what_would_change_the_machine_is_not_in_the_profile() -> None:
    allowed = {
        name
        for rule in PROFILE["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    }
    assert allowed.isdisjoint(OF_THE_MACHINE)
    assert {"read", "execve", "landlock_restrict_self", "pidfd_send_signal"} <= allowed


def test_no_call_is_named_twice() -> None:
    names = [
        name
        for rule in PROFILE["syscalls"]
        if "args" not in rule or rule["names"] != ["personality"]
        for name in rule["names"]
    ]
    assert sorted(names) == sorted(set(names))

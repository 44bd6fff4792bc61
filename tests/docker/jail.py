"""Become a program under a container's seccomp profile: jail.py PROFILE PROGRAM ...

What an engine does between its fork and its exec, as far as bubblewrap can tell. Capabilities go,
but for one: root, who runs the tests in a container or a CI, may else not map its uid.
"""

import ctypes
import json
import os
import platform
import sys
from pathlib import Path

import pyseccomp

PR_CAPBSET_DROP = 24
CAP_SETFCAP = 31
CAPABILITIES = 64
PR_SET_NO_NEW_PRIVS = 38
UNKNOWN = -1
"""What libseccomp says of a call younger than it is; engines leave such a name out as well."""
COMPARISONS = {
    "SCMP_CMP_EQ": pyseccomp.EQ,
    "SCMP_CMP_NE": pyseccomp.NE,
    # Engines take the value for the mask; what is left by it must be valueTwo, 0 where not given.
    "SCMP_CMP_MASKED_EQ": pyseccomp.MASKED_EQ,
}
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


def main() -> None:
    profile, program, *arguments = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:  # others have none
        for capability in {*range(CAPABILITIES)} - {CAP_SETFCAP}:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # so the exec does not give it back
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    filter_from(json.loads(Path(profile).read_text())).load()
    os.execve(program, [program, *arguments], {})


def filter_from(profile: dict) -> pyseccomp.SyscallFilter:
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert ARCHITECTURES[platform.machine()] in {a["architecture"] for a in profile["archMap"]}
    made = pyseccomp.SyscallFilter(pyseccomp.ERRNO(profile["defaultErrnoRet"]))
    for rule in profile["syscalls"]:
        action = pyseccomp.ALLOW
        if rule["action"] == "SCMP_ACT_ERRNO":
            action = pyseccomp.ERRNO(rule["errnoRet"])
        comparisons = [comparison(argument) for argument in rule.get("args", ())]
        for name in rule["names"]:
            if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) != UNKNOWN:
                made.add_rule(action, name, *comparisons)
    return made


def comparison(argument: dict) -> pyseccomp.Arg:
    value, kind = argument["value"], COMPARISONS[argument["op"]]
    if kind == pyseccomp.MASKED_EQ:
        return pyseccomp.Arg(argument["index"], kind, value, argument.get("valueTwo", 0))
    return pyseccomp.Arg(argument["index"], kind, value)


if __name__ == "__main__":
    main()

"""The filter of system calls that a candidate runs under, as the kernel wants it: classic BPF.

Everything is allowed but what is named here: calls that reach into other processes, that make new
namespaces or mounts, that change the machine, and young interfaces with a record of holes that no
candidate needs. The list refuses, it does not kill: a library that probes for io_uring goes
on without it.
"""

import errno
import platform
import socket
import struct
from typing import Final

DENIED: Final[dict[str, tuple[int | None, int | None]]] = {
    # name: (x86_64, aarch64)
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

CLONE: Final = (56, 220)
CLONE3: Final = (435, 435)
IOCTL: Final = (16, 29)
SOCKET: Final = (41, 198)
SOCKETPAIR: Final = (53, 199)

AUDIT_ARCH: Final = (0xC000003E, 0xC00000B7)
MACHINES: Final = ("x86_64", "aarch64")
X32_BIT: Final = 0x40000000

NAMESPACE_FLAGS: Final = 0x7E020000
"""CLONE_NEW of user, pid, net, ipc, uts, cgroup and mount."""
TIOCSTI: Final = 0x5412
TIOCLINUX: Final = 0x541C
"""Both push characters into a terminal's input, as if typed."""

LOAD_WORD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
JUMP_IF_ANY_BIT: Final = 0x45
RETURN: Final = 0x06

NUMBER_AT: Final = 0
ARCH_AT: Final = 4
ARGUMENTS_AT: Final = 16

KILL_PROCESS: Final = 0x80000000
ERRNO: Final = 0x00050000
ALLOW: Final = 0x7FFF0000

Instruction = tuple[int, int, int, int]


def filter_program(machine: str | None = None) -> bytes:
    """Return the `sock_filter` records for a machine: `x86_64`, `aarch64`, None for this one.

    Raises:
        LookupError: there is no table for the machine.

    """
    column = _column(machine)
    program = [
        (LOAD_WORD, 0, 0, ARCH_AT),
        (JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[column]),
        _answer(KILL_PROCESS),
        (LOAD_WORD, 0, 0, NUMBER_AT),
    ]
    if MACHINES[column] == "x86_64":
        program += [(JUMP_IF_AT_LEAST, 0, 1, X32_BIT), _refuse(errno.EPERM)]
    for number in denied_calls(machine).values():
        program += [(JUMP_IF_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    # Its flags lie behind a pointer, out of a filter's sight; without it libc falls back to clone.
    program += [(JUMP_IF_EQUAL, 0, 1, CLONE3[column]), _refuse(errno.ENOSYS)]
    program += _on(CLONE[column], 0, [(JUMP_IF_ANY_BIT, 0, 1, NAMESPACE_FLAGS)])
    local: list[Instruction] = [(JUMP_IF_EQUAL, 1, 0, socket.AF_UNIX)]
    for call in (SOCKET, SOCKETPAIR):
        program += _on(call[column], 0, local, errno.EAFNOSUPPORT)
    program += _on(
        IOCTL[column], 1, [(JUMP_IF_EQUAL, 1, 0, TIOCSTI), (JUMP_IF_EQUAL, 0, 1, TIOCLINUX)]
    )
    program.append(_answer(ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def denied_calls(machine: str | None = None) -> dict[str, int]:
    """Return the number of each call that is refused whatever its arguments.

    Raises:
        LookupError: there is no table for the machine.

    """
    column = _column(machine)
    pairs = ((name, numbers[column]) for name, numbers in DENIED.items())
    return {name: number for name, number in pairs if number is not None}


def _column(machine: str | None) -> int:
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise LookupError(f"no system call table for {machine}")
    return MACHINES.index(machine)


def _on(
    number: int, argument: int, tests: list[Instruction], refusal: int = errno.EPERM
) -> list[Instruction]:
    """Refuse one call if the low word of an argument passes the tests.

    The last test must jump over one instruction, the refusal, when the call is fine. The number is
    loaded again for whatever follows.
    """
    body = [
        (LOAD_WORD, 0, 0, ARGUMENTS_AT + 8 * argument),
        *tests,
        _refuse(refusal),
        (LOAD_WORD, 0, 0, NUMBER_AT),
    ]
    return [(JUMP_IF_EQUAL, 0, len(body), number), *body]


def _refuse(number: int) -> Instruction:
    return _answer(ERRNO | number)


def _answer(action: int) -> Instruction:
    return (RETURN, 0, 0, action)

"""The filter, instruction by instruction, on both machines; test_hostile has the kernel's side."""

import errno
import re
import socket
import struct
from pathlib import Path

import pytest

from worker.sandbox.seccomp import (
    ALLOW,
    AUDIT_ARCH,
    CLONE,
    CLONE3,
    DENIED,
    ERRNO,
    IOCTL,
    KILL_PROCESS,
    MACHINES,
    SOCKET,
    SOCKETPAIR,
    TIOCLINUX,
    TIOCSTI,
    denied_calls,
    filter_program,
)

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
SIGCHLD = 17
CLONE_OF_A_THREAD = 0x3D0F00
CLONE_NEWUSER = 0x10000000
TCGETS = 0x5401
READ = {"x86_64": 0, "aarch64": 63}
EPERM = ERRNO | errno.EPERM


def answer(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """Run the filter as the kernel would on one call."""
    program = list(struct.iter_unpack("=HBBI", filter_program(machine)))
    arch = AUDIT_ARCH[MACHINES.index(machine)] if arch is None else arch
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, arch, 0, *words)
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x06:
                return operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("call", [SOCKET, SOCKETPAIR])
def test_sockets_are_of_this_machine_only(machine: str, call: tuple[int, int]):
    number = call[MACHINES.index(machine)]
    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    refused = ERRNO | errno.EAFNOSUPPORT
    answers = [answer(machine, number, each) for each in families]
    assert answers == [ALLOW, refused, refused, refused]


def test_every_denied_call_is_refused_and_its_neighbours_are_not(machine: str):
    denied = set(denied_calls(machine).values())
    special = {pair[MACHINES.index(machine)] for pair in (CLONE3, CLONE, SOCKET, SOCKETPAIR, IOCTL)}
    for number in range(600):
        if number not in special:
            assert (answer(machine, number) == EPERM) == (number in denied), number
            assert answer(machine, number) in (EPERM, ALLOW)


def test_calls_of_another_architecture_kill(machine: str):
    i386 = 0x40000003
    assert answer(machine, READ[machine], arch=i386) == KILL_PROCESS


def test_the_x32_numbers_are_refused():
    assert answer("x86_64", 0x40000000 | 520) == EPERM
    assert answer("x86_64", 0xFFFFFFFF) == EPERM


def test_clone_makes_processes_and_threads_but_no_namespaces(machine: str):
    clone = CLONE[MACHINES.index(machine)]
    assert answer(machine, clone, SIGCHLD) == ALLOW
    assert answer(machine, clone, CLONE_OF_A_THREAD) == ALLOW
    assert answer(machine, clone, CLONE_NEWUSER | SIGCHLD) == EPERM
    for bit in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x20000000, 0x40000000):
        assert answer(machine, clone, bit) == EPERM


def test_clone3_seems_not_to_exist(machine: str):
    assert answer(machine, CLONE3[MACHINES.index(machine)]) == ERRNO | errno.ENOSYS


def test_only_local_sockets_are_made(machine: str):
    for pair in (SOCKET, SOCKETPAIR):
        number = pair[MACHINES.index(machine)]
        assert answer(machine, number, socket.AF_UNIX) == ALLOW
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 40):
            assert answer(machine, number, family) == ERRNO | errno.EAFNOSUPPORT


def test_nothing_is_typed_into_terminals_whatever_the_upper_half_says(machine: str):
    ioctl = IOCTL[MACHINES.index(machine)]
    assert answer(machine, ioctl, 0, TCGETS) == ALLOW
    for request in (TIOCSTI, TIOCLINUX):
        assert answer(machine, ioctl, 0, request) == EPERM
        assert answer(machine, ioctl, 0, request | 1 << 32) == EPERM


def test_the_numbers_are_those_of_the_kernels_headers(machine: str):
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"no {header}")
    named = dict(re.findall(r"^#define __NR_(\w+)\s+(\d+)", header.read_text(), re.M))
    ours = {name: pair[MACHINES.index(machine)] for name, pair in DENIED.items()}
    ours |= {
        name: pair[MACHINES.index(machine)]
        for name, pair in zip(
            ("clone", "clone3", "ioctl", "socket", "socketpair"),
            (CLONE, CLONE3, IOCTL, SOCKET, SOCKETPAIR),
            strict=True,
        )
    }
    unknown = {name for name in ours if ours[name] is not None and name not in named}
    assert unknown <= {"open_tree_attr"}  # younger than many headers
    assert {n: int(named[n]) for n in ours.keys() & named.keys()} == {
        n: ours[n] for n in ours.keys() & named.keys()
    }


def test_a_machine_without_a_table_is_refused():
    with pytest.raises(LookupError, match="riscv64"):
        filter_program("riscv64")

"""Names of devices that a job can ask for, in the one spelling that is stored and answered.

A job waits in the line of its device. Modes that not every worker of a device may take have lines
of their own, `ranked/H200`, which only workers that are fit for them serve.
"""

from collections.abc import Iterable

from contract.errors import InvalidSubmission
from contract.submission import Mode

ANY = "any"
CPU = "cpu"
UNKNOWN = "unknown"
"""What a worker has whose judge never came up: no name that a job could ask for."""
DEVICES = (
    ANY,
    CPU,
    *(
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
        "sm_100",
        "sm_103",
        "sm_110",
        "sm_120",
        "sm_121",
    ),
    *("A100", "L4", "L40S", "H100", "H200", "GH200", "B200", "B300", "GB200", "GB300"),
)
"""Any device, workers without a GPU, architectures, cards."""
GPU_ONLY = (Mode.RANKED, Mode.PROFILE, Mode.COMPARE)
"""Modes that mean nothing without a GPU: never emulated, and in lines of their own."""


def device_named(name: str, served: Iterable[str] = ()) -> str:
    """Return the device in its one spelling; `served` are further names, those of live workers.

    Raises:
        InvalidSubmission: there is none of this name; the message lists those there are.

    """
    known = tuple(dict.fromkeys((*DEVICES, *served)))
    for device in known:
        if device.lower() == name.lower():
            return device
    raise InvalidSubmission("device", f"unknown device {name!r}; known: {', '.join(known)}")


def line_of(device: str, mode: Mode) -> str:
    """Return the line that a job of this device and mode waits in."""
    return f"{mode}/{device}" if mode in GPU_ONLY else device


def device_of(line: str) -> str:
    """Return the device of a line."""
    return line.rpartition("/")[2]

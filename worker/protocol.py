"""The records between judge and runner: fixed size, fixed fields, no pickle. Both import this.

Judge to runner: one `Job` with the descriptors of arena and source, then a `Call` a call, of which
one with the token 0 lets the file be imported; or one `Order`, whose answers carry the number of a
target from 1 on for a token.
Runner to judge: `Answer`s. The judge trusts no field of an answer: `status` decides only what the
candidate is blamed for, the values are read from the arena, and a `token` that was not just handed
out breaks the protocol. Descriptors sent by a runner are never received.
"""

import array
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self

MAGIC: Final = 0x68423031
TEXT_BYTES: Final = 3072
LONGEST_US: Final = 1e10
"""No call is allowed to take this long, and sums of such durations stay finite."""
NAME_BYTES: Final = 64
DESCRIPTORS: Final = 3
"""What comes with a `Job` or an `Order`."""
_JOB: Final = struct.Struct(f"<IQQI?{NAME_BYTES}s")
_ORDER: Final = struct.Struct("<IQQ")
_CALL: Final = struct.Struct("<IQQQI")
_ANSWER: Final = struct.Struct(f"<IQHIddH{TEXT_BYTES}s")

JOB_BYTES: Final = _JOB.size
ORDER_BYTES: Final = _ORDER.size
CALL_BYTES: Final = _CALL.size
ANSWER_BYTES: Final = _ANSWER.size


class ProtocolError(Exception):
    """A record of the wrong size, magic, status or token."""


class Status(IntEnum):
    """What became of a step in the runner."""

    READY = 0
    """Warm: torch and triton are imported."""
    IMPORTED = 1
    DONE = 2
    NO_ENTRY = 3
    """The file has no callable `custom_kernel`."""
    RAISED = 4
    COMPILER = 5
    """A compiler's exception."""
    MEMORY = 6
    WRONG_TYPE = 7
    WRONG_COUNT = 8
    WRONG_SHAPE = 9
    WRONG_DTYPE = 10
    EXITED = 11
    """`sys.exit` or another exception that is no `Exception`."""
    REVIEWED = 12
    """The file was read, and not run yet; the text says what a person should look at."""
    ABORTED = 13
    """The compiler aborted a process that compiles."""
    SIGNALLED = 14
    """A process that compiles died of another signal."""


@dataclass(frozen=True, slots=True)
class Job:
    """Sent once, with three descriptors: the arena's host and device piece, and the source."""

    host_bytes: int
    device_bytes: int
    source_bytes: int
    emulated: bool
    problem: str

    def pack(self) -> bytes:
        """Return the record."""
        sizes = self.host_bytes, self.device_bytes, self.source_bytes
        return _JOB.pack(MAGIC, *sizes, self.emulated, self.problem.encode())

    @classmethod
    def unpack(cls, record: bytes) -> Self:
        """Read the record."""
        magic, *fields, emulated, name = _JOB.unpack(record)
        if magic != MAGIC:
            raise ProtocolError("not a job record")
        host, device, source = fields
        return cls(host, device, source, emulated, name.rstrip(b"\0").decode())


@dataclass(frozen=True, slots=True)
class Order:
    """Sent once, with three descriptors: memory for reports, the order, and the source."""

    order_bytes: int
    source_bytes: int

    def pack(self) -> bytes:
        """Return the record."""
        return _ORDER.pack(MAGIC, self.order_bytes, self.source_bytes)

    @classmethod
    def unpack(cls, record: bytes) -> Self:
        """Read the record."""
        magic, *fields = _ORDER.unpack(record)
        if magic != MAGIC:
            raise ProtocolError("not an order record")
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class Call:
    """Run the candidate once on a slot: the table of its sizes lies at `host_offset`.

    On a CPU at once; on a GPU when the control page says so. Before the import it is an empty
    kernel of ours that runs, and the first call without a token asks for the import.
    """

    token: int
    host_offset: int
    device_offset: int
    groups: int

    def pack(self) -> bytes:
        """Return the record."""
        return _CALL.pack(MAGIC, self.token, self.host_offset, self.device_offset, self.groups)

    @classmethod
    def unpack(cls, record: bytes) -> Self:
        """Read the record."""
        magic, *fields = _CALL.unpack(record)
        if magic != MAGIC:
            raise ProtocolError("not a call record")
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a step: the token of its call (0 before the first), and words for people."""

    token: int
    status: Status
    group: int = 0
    """The group a wrong output was found in."""
    event_us: float = 0.0
    """What the runner's events say the device took. A claim: see `worker.sampling`."""
    host_us: float = 0.0
    """What the host took to issue the work. A claim, used for a flag only."""
    text: str = ""

    def pack(self) -> bytes:
        """Return the record; a long text keeps its head and its tail."""
        text = shorten(self.text.encode("utf-8", "replace"), TEXT_BYTES)
        return _ANSWER.pack(
            MAGIC,
            self.token,
            self.status,
            self.group,
            self.event_us,
            self.host_us,
            len(text),
            text,
        )

    @classmethod
    def unpack(cls, record: bytes) -> Self:
        """Read a record from a hostile process.

        Raises:
            ProtocolError: wrong size, magic, status or length of text, or a duration that is none.

        """
        if len(record) != ANSWER_BYTES:
            raise ProtocolError(f"a record of {len(record)} bytes")
        magic, token, status, group, event_us, host_us, length, text = _ANSWER.unpack(record)
        if magic != MAGIC or length > TEXT_BYTES:
            raise ProtocolError("a malformed record")
        try:
            known = Status(status)
        except ValueError:
            raise ProtocolError(f"unknown status {status}") from None
        if not (0 <= event_us <= LONGEST_US and 0 <= host_us <= LONGEST_US):
            raise ProtocolError("a duration that is none")
        words = text[:length].decode("utf-8", "replace")
        return cls(token, known, group, event_us, host_us, words)


def shorten(text: bytes, limit_bytes: int) -> bytes:
    """Cut the middle out of what is longer than the limit, and say how much went."""
    if len(text) <= limit_bytes:
        return text
    mark = f"\n... {len(text) - limit_bytes} bytes and more left out ...\n".encode()
    keep = (limit_bytes - len(mark)) // 2
    return text[:keep] + mark + text[-keep:]


def receive_with_descriptors(judge: socket.socket, size_bytes: int) -> tuple[bytes, Sequence[int]]:
    """Wait for a `Job` or an `Order`; exit where the judge is gone before there is one."""
    space = socket.CMSG_SPACE(DESCRIPTORS * array.array("i").itemsize)
    record, ancillary, _, _ = judge.recvmsg(size_bytes, space)
    if not record:
        sys.exit(0)
    return record, array.array("i", ancillary[0][2])

"""What `RunnerProcess.start_order` hands to a process that compiles or profiles, on its side."""

import array
import mmap
import os
import socket
import sys
from dataclasses import dataclass
from typing import Final

from worker.protocol import ORDER_BYTES, Order

DESCRIPTORS: Final = 3


@dataclass(frozen=True, slots=True)
class ReceivedOrder:
    """An order as JSON, the source it is about, and where to report."""

    order: bytes
    source: bytes
    reports: mmap.mmap


def receive_order(judge: socket.socket) -> ReceivedOrder:
    """Wait for the job and its descriptors; exit where the judge is gone before there is one."""
    space = socket.CMSG_SPACE(DESCRIPTORS * array.array("i").itemsize)
    record, ancillary, _, _ = judge.recvmsg(ORDER_BYTES, space)
    if not record:
        sys.exit(0)
    job = Order.unpack(record)
    descriptors = array.array("i", ancillary[0][2])
    reports_fd, order_fd, source_fd = descriptors
    received = ReceivedOrder(
        os.pread(order_fd, job.order_bytes, 0),
        os.pread(source_fd, job.source_bytes, 0),
        mmap.mmap(reports_fd, 0),
    )
    for descriptor in descriptors:
        os.close(descriptor)
    return received

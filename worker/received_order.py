"""What `RunnerProcess.start_order` hands to a process that compiles or profiles, on its side."""

import mmap
import os
import socket
from dataclasses import dataclass

from worker.protocol import ORDER_BYTES, Order, receive_with_descriptors


@dataclass(frozen=True, slots=True)
class ReceivedOrder:
    """An order as JSON, the source it is about, and where to report."""

    order: bytes
    source: bytes
    reports: mmap.mmap


def receive_order(judge: socket.socket) -> ReceivedOrder:
    """Wait for the order and its descriptors; exit where the judge is gone before there is one."""
    record, descriptors = receive_with_descriptors(judge, ORDER_BYTES)
    job = Order.unpack(record)
    reports_fd, order_fd, source_fd = descriptors
    received = ReceivedOrder(
        os.pread(order_fd, job.order_bytes, 0),
        os.pread(source_fd, job.source_bytes, 0),
        mmap.mmap(reports_fd, 0),
    )
    for descriptor in descriptors:
        os.close(descriptor)
    return received

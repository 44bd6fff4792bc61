"""The judge's first act: `python -m worker.judge_start FD`, before imports that take seconds.

A worker that is killed takes its judge along, also one that is still importing.
"""

import runpy
import select
import socket
import sys

from worker.process_tree import die_with_parent


def hung_up(peer: socket.socket) -> bool:
    """Whether the other end of a socket is closed."""
    poll = select.poll()
    poll.register(peer, select.POLLRDHUP)
    return bool(poll.poll(0))


def main() -> None:
    """Bind our life to the worker's, and become the judge."""
    die_with_parent()
    with socket.socket(fileno=int(sys.argv[1])) as worker:
        if hung_up(worker):  # it died before the kernel was asked
            return
        worker.detach()
    runpy.run_module("worker.judge_main", run_name="__main__")


if __name__ == "__main__":
    main()

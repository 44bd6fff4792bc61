"""Whether Nsight Compute runs inside the sandbox of a runner, and what it needs there.

    python bench/h200/ncu_in_sandbox.py

Starts it on a matrix product of torch's, as the candidate's own uid, without and with sockets of
IPv4 in the empty network of the sandbox, and shows what it says.
"""

import socket
import sys
import time

from worker.capture import Capture
from worker.device import find_device
from worker.ncu import SECTIONS, kernels_of
from worker.sandbox.choose import choose
from worker.sandbox.confinement import Launch
from worker.settings import WorkerSettings

PROGRAM = """
import torch
a = torch.randn(2048, 2048, device="cuda", dtype=torch.float16)
a @ a
torch.cuda.synchronize()
torch.cuda.profiler.start()
torch.cuda._sleep(1000)
a @ a
torch.cuda.synchronize()
torch.cuda.profiler.stop()
print("ran as uid", __import__("os").getuid())
"""
LIMIT_S = 90


def main() -> None:
    device = find_device(WorkerSettings())
    sandbox = choose(device.sandbox, device.environment)
    print("sandbox:", sandbox.level, sandbox.description)
    print("ncu:", device.ncu, "shown:", [str(path) for path in device.sandbox.shown])
    sections = [word for name in SECTIONS for word in ("--section", name)]
    options = ["--profile-from-start", "off", "--clock-control", "none", *sections]
    printed = ["--page", "raw", "--csv", "--print-units", "base"]
    for loopback in (False, True):
        ours, theirs = socket.socketpair()
        out, err = Capture(1 << 20), Capture(1 << 16)
        began_s = time.monotonic()
        confined = sandbox.start(
            Launch(
                argv=(str(device.ncu), *options, *printed, sys.executable, "-I", "-c", PROGRAM),
                environment=device.environment,
                memory_bytes=8 << 30,
                stdout_fd=out.write_fd,
                stderr_fd=err.write_fd,
                socket_fd=theirs.fileno(),
                loopback=loopback,
            )
        )
        for capture in (out, err):
            capture.close_write_end()
        theirs.close()
        status = confined.wait(LIMIT_S)
        confined.destroy()
        for capture in (out, err):
            capture.finish(2)
        ours.close()
        print(f"--- loopback {loopback}: status {status} after {time.monotonic() - began_s:.1f} s")
        print("kernels:", kernels_of(out.text()))
        print(out.text()[:1500])
        print(err.text()[:1500])


if __name__ == "__main__":
    sys.exit(main())

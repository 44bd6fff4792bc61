"""The process that has a stranger's file profiled: starts it so, and reads the report.

Theory of operation
    Started by the judge in the sandbox of any runner, with one socket. It imports no torch. It says
    READY and receives an Order with three descriptors: memory for the report, the order
    (problem, cases, seed, and where Nsight Compute is; JSON), the source. It starts one process,
    `worker.profiled`, which imports the file and calls it once a case, under Nsight Compute, and
    where that is not there or gives no kernel, once more under torch's own profiler. One report
    goes back, the file that Nsight Compute wrote behind it, and one Answer.

    All of this belongs to the candidate from its first import on, the profiler's files included. It
    can report what it likes about its own kernels: that harms nobody, and nothing is ranked by it.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from worker.ncu import kernels_of, read_csv, read_details, take
from worker.process_tree import die_with_parent
from worker.protocol import Answer, Status
from worker.received_order import receive_order
from worker.review import flags, to_text
from worker.tool_report import (
    FILE_BYTES,
    TEXT_BYTES,
    first_lines,
    head_of,
    write_file,
    write_report,
)

CSV_BYTES: Final = 16 << 20
ORDER: Final = "order.json"
SOURCE: Final = "source.py"
RESULT: Final = "result.json"

Report = dict[str, object]


def main() -> None:
    """Serve one job on the socket whose descriptor is the first argument."""
    die_with_parent()
    judge = socket.socket(fileno=int(sys.argv[1]))
    judge.send(Answer(0, Status.READY).pack())
    received = receive_order(judge)
    Path(ORDER).write_bytes(received.order)
    Path(SOURCE).write_bytes(received.source)
    judge.send(Answer(0, Status.REVIEWED, text=to_text(flags(received.source))).pack())
    report, file = profile(json.loads(received.order)["ncu"])
    write_report(received.reports, 0, report)
    write_file(received.reports, file)
    judge.send(Answer(1, Status.DONE).pack())


def profile(ncu: str | None) -> tuple[Report, bytes]:
    """Profile with Nsight Compute where it is, and with torch where it is not or tells nothing.

    The file that Nsight Compute wrote comes second, empty where there is none.
    """
    if ncu is None:
        return with_torch("ncu is not installed on this worker"), b""
    try:
        report, file = with_ncu(ncu)
    except OSError as error:
        return with_torch(f"ncu cannot be started: {error}"), b""
    return (report, file) if report["kernels"] else (with_torch(str(report["note"])), b"")


def with_ncu(ncu: str) -> tuple[Report, bytes]:
    """Run the file under Nsight Compute, and read what it wrote."""
    report = Path("ncu").absolute()
    status = ended(take(ncu, report, child("ncu")))
    found = report.with_suffix(".ncu-rep")
    result = result_of(status)
    kernels = kernels_of(printed(read_csv(ncu, found), CSV_BYTES))
    if not kernels:
        return {"tool": "ncu", "note": words_of(report, status), "kernels": [], "text": ""}, b""
    text = printed(read_details(ncu, found), TEXT_BYTES)
    file, remark = kept(found)
    note = "; ".join(filter(None, (result["note"], remark))) or None
    return {"tool": "ncu", "note": note, "kernels": kernels, "text": text}, file


def kept(found: Path) -> tuple[bytes, str]:
    """Return the file that Nsight Compute wrote, or nothing and why it is left out."""
    with found.open("rb") as opened:
        data = opened.read(FILE_BYTES + 1)
    if len(data) <= FILE_BYTES:
        return data, ""
    return b"", f"the report file is left out: it has more than {FILE_BYTES >> 20} MiB"


def with_torch(why_not_ncu: str) -> Report:
    """Run the file under the profiler that torch has: names and durations."""
    status = ended(child("torch"))
    result = result_of(status)
    note = "; ".join(word for word in (why_not_ncu, str(result["note"] or "")) if word)
    text = head_of(str(result.get("table", "")), TEXT_BYTES)
    return {"tool": "torch", "note": note, "kernels": result.get("kernels", []), "text": text}


def child(tool: str) -> list[str]:
    """Return the command that runs the file."""
    Path(RESULT).unlink(missing_ok=True)
    return [sys.executable, "-I", "-u", "-m", "worker.profiled", tool]


def ended(command: Sequence[str]) -> int:
    """Run a command to its end; what it prints is the candidate's log. Return its status."""
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode


def result_of(status: int) -> Mapping[str, Any]:
    """Return what the process that ran the file left behind, or how it ended without that."""
    try:
        return dict(json.loads(Path(RESULT).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {"note": f"the profiled process ended with status {status}, and without a result"}


def printed(command: Sequence[str], limit_bytes: int) -> str:
    """Return what a command prints, up to a limit."""
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    return head_of(done.stdout.decode("utf-8", "replace"), limit_bytes)


def words_of(report: Path, status: int) -> str:
    """Return what Nsight Compute says for itself where it has no kernel to show."""
    try:
        lines = Path(f"{report}.log").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    said = [line for line in lines if line.startswith(("==ERROR==", "==WARNING=="))]
    return first_lines("\n".join((f"ncu ended with status {status} and without a kernel", *said)))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()

"""Says that it is idle, and ends when it is told to.

Where that is asked for, it is unfit, or stays, or ends at once where it is the first of several.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

if os.environ.get("STAND_IN_WORKER_STAYS"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ.get("STAND_IN_FIRST_WORKER_ENDS"):
    with suppress(FileExistsError):
        (Path(os.environ["STAND_IN_DIR"]) / "first").touch(exist_ok=False)
        sys.exit("the GPU is broken")
state = "unhealthy" if os.environ.get("STAND_IN_WORKER_UNFIT") else "idle"
note = Path(os.environ["STAND_IN_DIR"]) / f"worker-{os.getpid()}.json"
worker = {"pid": os.getpid(), "state": state, "device": "cpu", "gpu": None, "sandbox_level": 2}
worker["reason"] = "it multiplies wrongly" if state == "unhealthy" else None
part = note.with_suffix(".part")
part.write_text(json.dumps(worker))
part.rename(note)
while True:
    signal.pause()

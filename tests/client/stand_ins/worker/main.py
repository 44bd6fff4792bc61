"""Says that it is idle, and ends when it is told to; not even then, where that is asked for."""

import json
import os
import signal
from pathlib import Path

if os.environ.get("STAND_IN_WORKER_STAYS"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note = Path(os.environ["STAND_IN_DIR"]) / f"worker-{os.getpid()}.json"
worker = {"pid": os.getpid(), "state": "idle", "device": "cpu", "gpu": None, "sandbox_level": 2}
part = note.with_suffix(".part")
part.write_text(json.dumps(worker))
part.rename(note)
while True:
    signal.pause()

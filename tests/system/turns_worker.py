"""A worker whose judge has a stand-in for a GPU; all else is `worker.main` as it is."""

import sys
from pathlib import Path

from worker import main
from worker.judge_client import JudgeClient

STAND_IN = Path(__file__).parents[1] / "worker" / "turns_stand_in.py"
JudgeClient.COMMAND = (sys.executable, "-I", str(STAND_IN))

if __name__ == "__main__":
    main.main()

"""A worker whose judge has a stand-in for a GPU; all else is `worker.main` as it is."""

import sys
from pathlib import Path

from worker import main
from worker.judge_client import JudgeClient

JudgeClient.COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("gpu_stand_in.py")))

if __name__ == "__main__":
    main.main()

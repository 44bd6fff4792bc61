"""A worker whose judge is the stand-in of contest_judge.py; all else is `worker.main` as it is."""

import sys
from pathlib import Path

from worker import main
from worker.judge_client import JudgeClient

JudgeClient.COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("contest_judge.py")))

if __name__ == "__main__":
    main.main()

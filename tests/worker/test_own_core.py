"""The core of a judge: nobody else's while it times, and not its children's."""

import json
import os
import subprocess
import sys

import pytest

CHILD = """
import json, os, subprocess, sys, threading
from worker import own_core
own_core.FEWEST = 1
all_cores = sorted(os.sched_getaffinity(0))
core = own_core.OwnCore(0, 1)
seen = {"all": all_cores}
def child():
    text = "import os; print(sorted(os.sched_getaffinity(0)))"
    return json.loads(subprocess.check_output([sys.executable, "-c", text]))
seen["child"] = child()
with core:
    seen["inside"] = sorted(os.sched_getaffinity(0))
seen["outside"] = sorted(os.sched_getaffinity(0))
print(json.dumps(seen))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="has one core only")
def test_a_judge_has_a_core_and_its_children_the_others() -> None:
    seen = json.loads(subprocess.check_output([sys.executable, "-c", CHILD]))
    assert seen["inside"] == seen["all"][-1:]
    assert seen["outside"] == seen["child"] == seen["all"][:-1]


def test_where_cores_are_few_nobody_is_moved() -> None:
    count = len(os.sched_getaffinity(0))
    text = CHILD.replace("FEWEST = 1", f"FEWEST = {count}")
    seen = json.loads(subprocess.check_output([sys.executable, "-c", text]))
    assert seen["inside"] == seen["outside"] == seen["child"] == seen["all"]

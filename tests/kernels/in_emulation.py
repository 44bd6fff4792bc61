"""A child process in which a CPU stands in for a GPU: emulation lasts for the life of a process."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernels.measurement import Comparison, Worst
from kernels.problem import Case

ROOT = Path(__file__).parents[2]


class Emulation:
    """Runs kernels and sources in the child, see emulated_child."""

    def __init__(self, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.kernels.emulated_child"],
            cwd=ROOT,
            # More threads than cores would spend their time waiting for each other.
            env=os.environ
            | {"TRITON_INTERPRET": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
            | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compare(
        self, kernel: str, case: Case, seed: int = 1, problem: str = "nvfp4_group_gemm"
    ) -> Comparison:
        """Run a module's or a file's `custom_kernel` on a case and compare the outputs."""
        asked = {"kernel": kernel, "case": asdict(case), "seed": seed, "problem": problem}
        found = self._ask(asked)
        worst = found.pop("worst")
        return Comparison(worst=Worst(**worst) if worst else None, **found)

    def answer(self, source: str) -> Any:
        """Run a source and return its `answer`."""
        return self._ask({"source": source})

    def close(self) -> None:
        """End the child."""
        self._process.communicate()

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the child ended with {self._process.wait()}"
        reply = json.loads(line)
        if "error" in reply:
            raise AssertionError(reply["error"])
        return reply["answer"]

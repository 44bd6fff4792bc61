"""`halfbyte demo`: the whole road once on this machine, with commands that anybody can type."""

from collections.abc import Sequence
from pathlib import Path
from shlex import join
from tempfile import TemporaryDirectory

from client.child import python, start
from client.environment import inherited
from client.errors import UsageError
from client.terminal import say
from client.up import Local, StopAsked, Wanted, local

EXAMPLE = Path(__file__).parent.parent / "examples" / "my_kernel.py"
SIZES = ("--m", "96,128", "--n", "128,256", "--k", "256,512")
LOOK_S = 1.0


def run() -> int:
    """Return 0 where both kernels passed, else the exit code of the first that did not."""
    if not EXAMPLE.exists():
        raise UsageError(f"the demo needs the repository: there is no {EXAMPLE}")
    with TemporaryDirectory(prefix="halfbyte-") as directory:
        wanted = Wanted(Path(directory), "127.0.0.1", 0, None, 1)
        with local(wanted) as everything:
            codes = [
                _command(everything, ("run", *SIZES)),
                _command(everything, ("submit", _from_here(EXAMPLE), *SIZES)),
            ]
            say("")
            say("stopping")
    worst = next((code for code in codes if code), 0)
    passed = "Both kernels passed. `make up` serves for as long as you like."
    say("Not both kernels passed." if worst else passed)
    return worst


def _from_here(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _command(everything: Local, arguments: Sequence[str]) -> int:
    """Run one command on our own terminal, while everything is kept alive."""
    say("")
    say(f"$ halfbyte {join(arguments)}")
    # Said in full, whatever is set in the environment or in a config file.
    here = ("--url", everything.url, "--device", "any", "--problem", "nvfp4_group_gemm")
    process = start(python("client", *arguments, *here), inherited())
    try:
        while process.poll() is None:
            if everything.wait(LOOK_S):
                raise StopAsked("interrupted")
    finally:
        process.kill()
        process.wait()
    return process.returncode

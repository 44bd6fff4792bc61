"""Where a kernel leaves a call to another one, the reason goes to stderr: to the log of a job."""

import sys
from functools import cache


@cache
def tell(kernel: str, reason: str) -> None:
    """Say why a kernel does not run a call; each reason once a process."""
    sys.stderr.write(f"{kernel} {reason}; the next kernel of the catalog runs this call\n")

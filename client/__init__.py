"""The halfbyte command, and the same as a library: speaks HTTP to the service.

from client import Halfbyte

with Halfbyte.configured() as halfbyte:
    verdict = halfbyte.evaluate(Path("my_kernel.py"), device="H200")
"""

from client.api import Halfbyte, file_candidate
from client.errors import (
    ApiError,
    ClientError,
    NotEnded,
    NoVerdict,
    Refused,
    ServiceFailed,
    Unreachable,
    UsageError,
)
from client.wire import CaseRequest, JobView
from client.wire_verdict import CaseResult, Timing, Verdict

__all__ = [
    "ApiError",
    "CaseRequest",
    "CaseResult",
    "ClientError",
    "Halfbyte",
    "JobView",
    "NoVerdict",
    "NotEnded",
    "Refused",
    "ServiceFailed",
    "Timing",
    "Unreachable",
    "UsageError",
    "Verdict",
    "file_candidate",
]

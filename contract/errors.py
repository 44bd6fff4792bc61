"""Our own faults, and refusals at the edge. A candidate's fault is never an exception: see verdict.

EvaluationError
    InvalidSubmission        the client can mend it                            422
        SourceTooLarge                                                         413
    IdempotencyConflict      same key, another body                            422
    NotAuthenticated         no key, or none of ours                           401
    NotAllowed               the key's role is too low                         403
    JobNotFound              or it is somebody else's                          404
    QuotaExceeded            of one owner; says which, and carries a wait      429, Retry-After
    QueueFull                carries the length and a wait                     503, Retry-After
    IntakeStopped            by an organiser                                   503, Retry-After
    OutsideWindow            no board takes a ranked job now; carries windows  409
    NothingToRetry           the job has not failed by a fault of ours         409
    QueueUnavailable         Redis is away                                     503, Retry-After
    LeaseLost                cancelled, expired or taken over: write nothing
"""

import re
from collections.abc import Mapping, Sequence


class EvaluationError(Exception):
    """Root of everything the service and the workers raise on purpose."""


class InvalidSubmission(EvaluationError):
    """The request breaks a rule; `field` is the path of what has to be changed."""

    def __init__(self, field: str, message: str, **extra: object) -> None:
        """Name the field, the rule, and further members for the problem document."""
        # "k[0] must be ..." names its field itself; "must be ..." does not name `m`.
        named = re.match(rf"{re.escape(field)}(?!\w)", message) or not field
        super().__init__(message if named else f"{field}: {message}")
        self.field = field
        self.message = message
        self.extra = extra


class SourceTooLarge(InvalidSubmission):
    """The source is over the limit in bytes."""


class IdempotencyConflict(EvaluationError):
    """The Idempotency-Key was used before with another body."""


class NotAuthenticated(EvaluationError):
    """A key is needed, and none was given, or one that does not hold."""


class NotAllowed(EvaluationError):
    """The key holds, and its role is too low for this."""


class JobNotFound(EvaluationError):
    """No such job, or it is past its retention, or somebody else's."""


class QuotaExceeded(EvaluationError):
    """An owner has used up one of its quotas; `retry_after_s` is None where nobody can tell."""

    def __init__(
        self, quota: str, limit: int, used: int, retry_after_s: float | None = None
    ) -> None:
        """Name the quota as the setting does, and carry its limit and what was used of it."""
        super().__init__(f"your quota {quota} is used up: {used} of {limit}")
        self.quota = quota
        self.limit = limit
        self.used = used
        self.retry_after_s = retry_after_s


class QueueFull(EvaluationError):
    """The queue holds as many jobs as it may."""

    def __init__(self, length: int, limit: int) -> None:
        """Carry the length of the queue and its limit."""
        super().__init__(f"the queue is full: {length} jobs wait, {limit} may")
        self.length = length
        self.limit = limit


class IntakeStopped(EvaluationError):
    """No job is accepted until an organiser says so; those accepted before run on."""


class OutsideWindow(EvaluationError):
    """A ranked job was sent before the opening of its board, or not before the deadline."""

    def __init__(self, message: str, windows: Sequence[Mapping[str, object]]) -> None:
        """Carry the window of each board that it might enter, fit for JSON."""
        super().__init__(message)
        self.windows = windows


class NothingToRetry(EvaluationError):
    """The job has a verdict, or was cancelled: there is nothing to make good."""


class QueueUnavailable(EvaluationError):
    """Redis does not answer."""


class LeaseLost(EvaluationError):
    """The job is no longer ours: cancelled, expired or taken over. Write nothing."""

    def __init__(self, cancelled: bool = False) -> None:
        """Tell whether a cancel was the reason."""
        super().__init__("cancelled" if cancelled else "lease expired or taken over")
        self.cancelled = cancelled

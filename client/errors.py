"""What can go wrong between the client and the service.

ClientError
    UsageError      what was asked for makes no sense; nothing was sent          exit code 2
    Unreachable     no answer, for as long as the client was patient             exit code 3
    NoVerdict       the job failed by a fault of ours, or was cancelled          exit code 3
    NotEnded        the job has not ended in the time that there was             exit code 3
    ApiError
        Refused         4xx: the request, or the address, has to be changed      exit code 2
        ServiceFailed   5xx, or an answer that makes no sense                    exit code 3

Notes of an error say what to do about it.
"""

from collections.abc import Mapping

from client.wire import JobView

USAGE = 2
OUR_FAULT = 3
OURS = "urn:halfbyte:problem:"
KEY_HINT = (
    "Show one by --key, HALFBYTE_KEY or a config file. Whoever runs the service makes them: "
    "halfbyte admin key create NAME"
)
LIST_HINT = "The jobs that there are: halfbyte list"


class ClientError(Exception):
    """Root of what the client raises on purpose."""

    exit_code = OUR_FAULT


class UsageError(ClientError):
    """What was asked for makes no sense; nothing was sent."""

    exit_code = USAGE


class Unreachable(ClientError):
    """Nothing answers at the address."""

    def __init__(self, url: str, reason: str, hint: str) -> None:
        """Name the address, what happened last, and what to do about it."""
        super().__init__(f"no answer from {url}: {reason}")
        self.add_note(hint)


class NoVerdict(ClientError):
    """The job ended without a verdict: by a fault of ours, or because it was cancelled."""

    def __init__(self, job: JobView) -> None:
        """Take the job; its `error` says why."""
        self.job = job
        error = job["error"]
        why = f"{error['reason']}: {error['message']}" if error else job["state"]
        super().__init__(f"job {job['id']} has no verdict; {why}")


class NotEnded(ClientError):
    """The job goes on, and the time that there was for it is over."""

    def __init__(self, job: JobView, timeout_s: float) -> None:
        """Take the job as it was last, and how long was waited."""
        self.job = job
        why = f"; {hint}" if (hint := job.get("hint")) else ""
        super().__init__(f"job {job['id']} is {job['state']}, and {timeout_s:g} s are over{why}")


class ApiError(ClientError):
    """The service answered with an error; `problem` is its RFC 9457 document.

    `fields` has the path of every field that has to be changed, with what is wrong with it.
    """

    def __init__(self, status: int, problem: Mapping[str, object]) -> None:
        """Take status and document."""
        self.status = status
        self.problem = problem
        self.fields = _fields(problem)
        names = ("title", "detail") if len(self.fields) > 1 else ("detail", "title")
        said = next((problem[name] for name in names if problem.get(name)), "no reason given")
        super().__init__(f"{said} (HTTP {status})")
        if status == 401:
            self.add_note(KEY_HINT)
        elif problem.get("type") == f"{OURS}no-such-job":
            self.add_note(LIST_HINT)


class Refused(ApiError):
    """The request has to be changed: 4xx."""

    exit_code = USAGE


class ServiceFailed(ApiError):
    """The service is at fault: 5xx, or an answer that makes no sense."""


def _fields(problem: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    errors = problem.get("errors")
    if not isinstance(errors, list):
        return ()
    return tuple(
        (str(error.get("field", "")), str(error.get("message", "")))
        for error in errors
        if isinstance(error, dict)
    )

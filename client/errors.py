"""What can go wrong between the client and the service.

ClientError
    UsageError      what was asked for makes no sense; nothing was sent          exit code 2
    Unreachable     no answer, for as long as the client was patient             exit code 3
    Refused         4xx: the request has to be changed                           exit code 2
    ServiceFailed   5xx, or an answer that is no JSON: the service's own fault   exit code 3
"""

from collections.abc import Mapping

USAGE = 2
OUR_FAULT = 3


class ClientError(Exception):
    """Root of what the client raises on purpose."""

    exit_code = OUR_FAULT


class UsageError(ClientError):
    """What was asked for makes no sense; nothing was sent."""

    exit_code = USAGE


class Unreachable(ClientError):
    """Nothing answers at the address."""

    def __init__(self, url: str, cause: Exception) -> None:
        """Name the address and what happened last."""
        super().__init__(f"no answer from {url}: {str(cause) or type(cause).__name__}")
        self.add_note("Start a service here with `halfbyte up`, or name another one with --url.")


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

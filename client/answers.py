"""What an answer that is no success means, and what it means that there is none."""

import socket
import ssl
from collections.abc import Iterator

import httpx

from client.errors import OURS, ApiError, Refused, ServiceFailed, Unreachable

START = "Start a service here with `halfbyte up`, or name another one with --url."
TRUST = "SSL_CERT_FILE=CA.pem has the client trust another authority."
ELSEWHERE = "Is --url right, and the service up behind its proxy?"
NO_TLS = "Is it http:// there, and not https://?"


def error_of(answer: httpx.Response) -> ApiError:
    """Return the error that an answer tells, with when to try again where it says so."""
    status = answer.status_code
    kind = Refused if status < 500 else ServiceFailed
    problem = _problem(answer)
    error = kind(status, problem) if problem else _of_somebody_else(answer, kind)
    if (wait_s := retry_after_s(answer)) is not None and wait_s >= 1:
        error.add_note(f"It asks to be tried again in {wait_s:.0f} s.")
    return error


def no_json(answer: httpx.Response) -> ServiceFailed:
    """Return the error of a success whose content is not ours."""
    said = f"no answer of halfbyte's at {answer.url}: it is no JSON"
    error = ServiceFailed(answer.status_code, {"detail": said})
    error.add_note(ELSEWHERE)
    return error


def unreachable(url: str, error: httpx.TransportError) -> Unreachable:
    """Return the error for a connection that came to nothing, in words."""
    for cause in _chain(error):
        hint = START
        match cause:
            case ssl.SSLCertVerificationError():
                said, hint = f"its certificate is not trusted: {cause.verify_message}", TRUST
            case ssl.SSLError():
                reason = (cause.reason or str(cause)).lower().replace("_", " ")
                said, hint = f"no TLS connection: {reason}", NO_TLS
            case socket.gaierror():
                said = f"no such host: {cause.strerror}"
            case TimeoutError():
                said = "it took too long"
            case ConnectionRefusedError():
                said = "nothing listens there"
            case OSError() if cause.strerror:
                said = cause.strerror
            case _:
                continue
        return Unreachable(url, said, hint)
    return Unreachable(url, str(error) or type(error).__name__, START)


def is_hopeless(error: httpx.TransportError, *, met: bool) -> bool:
    """Whether trying again cannot help: what is there does not become another thing.

    Nor does a service come up by itself where there was none; one that was `met` before may.
    """
    if isinstance(error, httpx.ConnectError) and not met:
        return True
    return any(isinstance(cause, ssl.SSLError) for cause in _chain(error))


def retry_after_s(answer: httpx.Response) -> float | None:
    """Return how long a busy service asks us to wait; None where it is no use to try again."""
    if answer.status_code not in (429, 503):
        return None
    try:
        return float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None


def _problem(answer: httpx.Response) -> dict[str, object] | None:
    try:
        problem = answer.json()
    except ValueError:
        return None
    ours = isinstance(problem, dict) and str(problem.get("type", "")).startswith(OURS)
    return problem if ours else None


def _of_somebody_else(answer: httpx.Response, kind: type[ApiError]) -> ApiError:
    """Tell an answer that no service of ours gives: a proxy's, or another program's."""
    said = f"no answer of halfbyte's at {answer.url}: {answer.reason_phrase or 'no reason given'}"
    leads = answer.headers.get("Location", "nowhere") if answer.is_redirect else None
    hint = f"It leads to {leads}: is --url right?" if leads else ELSEWHERE
    error = kind(answer.status_code, {"detail": said})
    error.add_note(hint)
    return error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

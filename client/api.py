"""Halfbyte: the HTTP interface as typed methods, for the command and for other programs."""

import base64
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self, cast
from urllib.parse import quote

import httpx

from client import config
from client.answers import error_of, unreachable
from client.errors import NotEnded, NoVerdict
from client.sse import Event, events
from client.transport import ANSWER_S, CONNECT_S, Transport
from client.wire import ENDED, CandidateRequest, CaseRequest, JobList, JobView
from client.wire_verdict import Verdict

SILENCE_S = 60.0
"""An event stream is taken for broken when nothing arrives for so long, comments included."""
MAX_WAIT_S = 60
"""The longest wait that the service holds one request for."""


class Halfbyte(Transport):
    """The jobs of one service.

    Results are the JSON of the service with types (client.wire), errors are those of client.errors.
    """

    @classmethod
    def configured(cls, patience_s: float = 60.0) -> Self:
        """Return a client of the service that the environment or a config file names.

        Raises:
            UsageError: a config file is wrong; the message names file and field.
            ValueError: what it names is no address.

        """
        found = config.load()
        return cls(found.url, found.key_for(found.url), patience_s)

    def evaluate(
        self,
        file: Path,
        cases: Sequence[CaseRequest] = (),
        mode: str | None = None,
        device: str | None = None,
        problem: str | None = None,
        timeout_s: float | None = None,
    ) -> Verdict:
        """Have a kernel file evaluated, and return the verdict once there is one.

        Raises:
            NoVerdict: the job failed by a fault of ours, or was cancelled.
            NotEnded: it goes on after `timeout_s` seconds.

        """
        job = self.submit_file(file.read_bytes(), file.name, cases, mode, device, problem)
        job = self.wait(job["id"], timeout_s)
        if job["verdict"] is None:
            raise NoVerdict(job)
        return job["verdict"]

    def wait(self, job: str, timeout_s: float | None = None) -> JobView:
        """Return the job once it has ended; asks in long polls, each held by the service.

        Raises:
            NotEnded: it goes on after `timeout_s` seconds.

        """
        ends = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = MAX_WAIT_S if ends is None else ends - time.monotonic()
            view = self.get(job, max(left_s, 0))
            if view["state"] in ENDED:
                return view
            if timeout_s is not None and left_s <= MAX_WAIT_S:
                raise NotEnded(view, timeout_s)

    def submit_sizes(
        self,
        cases: Sequence[CaseRequest] = (),
        kernel: str | None = None,
        mode: str | None = None,
        device: str | None = None,
        problem: str | None = None,
    ) -> JobView:
        """Have a built-in kernel evaluated, on the official cases where none are given."""
        return self.submit({"kernel": kernel or "auto", **_job(cases, mode, device, problem)})

    def submit_file(
        self,
        source: bytes,
        filename: str,
        cases: Sequence[CaseRequest] = (),
        mode: str | None = None,
        device: str | None = None,
        problem: str | None = None,
    ) -> JobView:
        """Have a kernel file evaluated; it arrives byte for byte."""
        return self.submit(
            {**file_candidate(source, filename), **_job(cases, mode, device, problem)}
        )

    def compile_file(
        self,
        source: bytes,
        filename: str,
        cases: Sequence[CaseRequest] = (),
        targets: Sequence[str] = (),
        problem: str | None = None,
    ) -> JobView:
        """Have a kernel file compiled, for all targets where none are given; nothing is run."""
        chosen: dict[str, object] = {"targets": list(targets)} if targets else {}
        return self.submit(
            {**file_candidate(source, filename), **_job(cases, "compile", None, problem), **chosen}
        )

    def submit(self, body: Mapping[str, object]) -> JobView:
        """Submit any request body of `POST /v1/jobs`."""
        return self._submit("jobs", body)

    def compare(
        self,
        a: CandidateRequest,
        b: CandidateRequest,
        cases: Sequence[CaseRequest] = (),
        device: str | None = None,
        problem: str | None = None,
    ) -> JobView:
        """Have two candidates take turns on one worker: see `file_candidate`."""
        body = {"a": a, "b": b, **_job(cases, None, device, problem)}
        return self._submit("comparisons", body)

    def _submit(self, what: str, body: Mapping[str, object]) -> JobView:
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        url = f"{self.url}/v1/{what}"
        request = self._http.build_request("POST", url, json=dict(body), headers=headers)
        return cast(JobView, self._json(request))

    def get(self, job: str, wait: float = 0) -> JobView:
        """Return the job: with `wait` as soon as it ended, or after so many seconds, at most 60."""
        wait_s = min(wait, MAX_WAIT_S)
        request = self._http.build_request(
            "GET",
            self._url(job),
            params={"wait": wait_s} if wait_s else None,
            timeout=httpx.Timeout(ANSWER_S + wait_s, connect=CONNECT_S),
        )
        return cast(JobView, self._json(request))

    def events(self, job: str, after: str | None = None) -> Iterator[Event]:
        """Yield the job's events as they happen, from the first or from the one after `after`.

        Ends with the stream; a stream that breaks off is Unreachable, and can be resumed.
        """
        headers = {"Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = after
        timeout = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
        try:
            with self._http.stream(
                "GET", self._url(job, "/events"), headers=headers, timeout=timeout
            ) as answer:
                if not answer.is_success:
                    answer.read()
                    raise error_of(answer)
                yield from events(answer.iter_lines())
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from error

    def cancel(self, job: str) -> JobView:
        """Cancel the job, queued or running."""
        return cast(JobView, self._json(self._http.build_request("DELETE", self._url(job))))

    def retry(self, job: str) -> JobView:
        """Have a job that failed by a fault of the service judged again, as of when it was sent."""
        return cast(JobView, self._json(self._http.build_request("POST", self._url(job, "/retry"))))

    def list(self, limit: int = 20, **filters: str | None) -> JobList:
        """Return the newest jobs; `filters` are state, mode, device, owner and cursor."""
        chosen = {name: value for name, value in filters.items() if value is not None}
        params = {"limit": str(limit), **chosen}
        return cast(
            JobList, self._json(self._http.build_request("GET", self._url(), params=params))
        )

    def source(self, job: str) -> bytes:
        """Return the submitted file as it was sent."""
        return self._send(self._http.build_request("GET", self._url(job, "/source"))).content

    def log(self, job: str) -> bytes:
        """Return what the candidate printed, as far as it was kept."""
        return self._send(self._http.build_request("GET", self._url(job, "/log"))).content

    def artifact(self, job: str, name: str) -> bytes:
        """Return what the job left behind: PTX, SASS, the text and the file of a profiler."""
        path = f"/artifacts/{quote(name, safe='')}"
        return self._send(self._http.build_request("GET", self._url(job, path))).content

    def _url(self, job: str | None = None, rest: str = "") -> str:
        jobs = f"{self.url}/v1/jobs"
        return jobs if job is None else f"{jobs}/{quote(job, safe='')}{rest}"


def file_candidate(source: bytes, filename: str) -> CandidateRequest:
    """Return a file as one of two that are compared; it arrives byte for byte."""
    return {"source_base64": base64.b64encode(source).decode("ascii"), "filename": filename}


def _job(
    cases: Sequence[CaseRequest], mode: str | None, device: str | None, problem: str | None
) -> dict[str, object]:
    body: dict[str, object] = {"cases": list(cases)} if cases else {}
    if len(cases) == 1:
        # The short form, so that a refusal names `m` and not `cases[0].m`.
        body = dict(cases[0])
    named = {"mode": mode, "device": device, "problem": problem}
    return body | {name: value for name, value in named.items() if value is not None}

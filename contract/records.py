"""What Redis holds of a job, turned into the contract's types and back."""

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from contract.device import device_of, line_of
from contract.job import (
    Fault,
    Headline,
    Job,
    JobEvent,
    JobState,
    JobSummary,
    Lease,
    Look,
    Progress,
    WorkerInfo,
)
from contract.submission import Candidate, Mode, Submission
from contract.verdict import RAW_SAMPLES, VERDICT, Passed, Verdict

Record = Sequence[Any]
"""A job as the scripts return it: its fields as a flat list, and its position or None."""


def fields_of(submission: Submission, job_id: str, owner: str) -> dict[str, str]:
    """Return the fields that a job has from its submission, for the whole of its life."""
    other = submission.other
    fields = {
        "id": job_id,
        "owner": owner,
        "mode": submission.mode.value,
        "problem": submission.problem,
        "kernel": submission.kernel,
        "filename": submission.filename,
        "sha256": submission.sha256,
        "device": line_of(submission.device, submission.mode),
        "callback_url": submission.callback_url,
        "other": None if other is None else other.model_dump_json(),
    }
    return {name: value for name, value in fields.items() if value is not None}


def job_from(record: Record, verdict: bytes | None = None) -> Job:
    """Read a job, with its packed verdict where that is given."""
    fields, position = fields_from(record[0]), record[1]
    progress, error = fields.get("progress"), fields.get("error")
    other = fields.get("other")
    return Job(
        id=fields["id"],
        number=int(fields["number"]),
        state=JobState(fields["state"]),
        mode=Mode(fields["mode"]),
        problem=fields["problem"],
        kernel=fields.get("kernel"),
        filename=fields.get("filename"),
        sha256=fields.get("sha256"),
        other=Candidate.model_validate_json(other) if other else None,
        device=device_of(fields["device"]),
        owner=fields["owner"],
        attempts=int(fields["attempts"]),
        position=position,
        created_at=time_from(fields["created_at"]),
        started_at=_time_or_none(fields.get("started_at")),
        finished_at=_time_or_none(fields.get("finished_at")),
        worker=fields.get("worker"),
        progress=Progress.model_validate_json(progress) if progress else None,
        verdict=VERDICT.validate_json(zlib.decompress(verdict)) if verdict else None,
        why_not=fields.get("why_not"),
        error=Fault.model_validate_json(error) if error else None,
    )


def look_from(reply: Sequence[Any]) -> Look:
    """Read a job that is looked at."""
    record, (verdict, review) = reply
    return Look(job=job_from(record), verdict=verdict, review=review)


def written(verdict: Verdict) -> tuple[bytes, bytes, bytes, bytes]:
    """Return what is written of a verdict: all of it, packed; as JSON headline, shown and review.

    Shown is what everybody sees: raw samples are for who asks for them, a review is for admins.
    """
    return (
        zlib.compress(VERDICT.dump_json(verdict)),
        to_json(headline_of(verdict)),
        VERDICT.dump_json(verdict, exclude={**RAW_SAMPLES, "review": True}),
        to_json(verdict.review),
    )


def summary_from(record: Record) -> JobSummary:
    """Read a job for a list."""
    headline = fields_from(record[0]).get("headline")
    return JobSummary(
        job=job_from(record),
        headline=Headline.model_validate_json(headline) if headline else None,
    )


def lease_from(reply: Sequence[Any], worker: str, token: str) -> Lease:
    """Read a job with its submission, as a claim returns them."""
    record, spec, source, other = reply
    job = job_from(record)
    submission = Submission.model_validate_json(spec).model_copy(update={"source": source})
    if submission.other is not None:
        second = submission.other.model_copy(update={"source": other})
        submission = submission.model_copy(update={"other": second})
    return Lease(job=job, submission=submission, worker=worker, attempt=job.attempts, token=token)


def headline_of(verdict: Verdict) -> Headline:
    """Return the part of a verdict that a list shows."""
    score = verdict.score if isinstance(verdict, Passed) else None
    return Headline(
        outcome=verdict.outcome,
        summary=verdict.summary,
        geomean_us=score.geomean_us if score else None,
    )


def event_from(entry: Sequence[Any]) -> JobEvent:
    """Read one entry of a job's stream."""
    fields = fields_from(entry[1])
    return JobEvent.model_validate(
        {"id": entry[0].decode(), "type": fields["type"], "data": json.loads(fields["data"])}
    )


def worker_from(info: bytes, beat_ms: bytes) -> WorkerInfo:
    """Read a live worker, with the time of its last heartbeat."""
    worker = WorkerInfo.model_validate_json(info)
    return worker.model_copy(update={"heartbeat_at": time_from(beat_ms)})


def time_from(ms: str | bytes) -> datetime:
    """Turn the server's clock into a UTC time."""
    return datetime.fromtimestamp(float(ms) / 1000, UTC)


def _time_or_none(ms: str | None) -> datetime | None:
    return None if ms is None else time_from(ms)


def fields_from(flat: Sequence[bytes]) -> Mapping[str, str]:
    """Read a hash, which Redis returns as a flat list."""
    return {
        name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)
    }

"""The messages between worker and judge: one JSON object a line. Both sides are ours."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contract.job import Fault, Progress
from contract.submission import Submission
from contract.verdict import Environment, Verdict
from worker.settings import WorkerSettings


class Configure(BaseModel):
    """First line to the judge."""

    model_config = ConfigDict(frozen=True)
    type: Literal["configure"] = "configure"
    settings: WorkerSettings


class Begin(BaseModel):
    """Judge this. The source travels beside the submission, whose JSON leaves it out."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")
    type: Literal["begin"] = "begin"
    submission: Submission
    source: bytes
    other_source: bytes = b""
    """Of B, in a comparison."""


class Cancel(BaseModel):
    """Stop the job that runs, if one does."""

    model_config = ConfigDict(frozen=True)
    type: Literal["cancel"] = "cancel"


class Ready(BaseModel):
    """The judge is up: what it runs on."""

    model_config = ConfigDict(frozen=True)
    type: Literal["ready"] = "ready"
    environment: Environment
    serves: tuple[str, ...]
    """Names of this device that jobs can ask for, the most special first."""
    sandbox_level: int


class Progressed(BaseModel):
    """The job got further."""

    model_config = ConfigDict(frozen=True)
    type: Literal["progressed"] = "progressed"
    progress: Progress


class Judged(BaseModel):
    """The job has a verdict."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")
    type: Literal["judged"] = "judged"
    verdict: Verdict
    artifacts: dict[str, bytes] = {}
    """What the verdict names beside itself, by name: texts, and a profiler's own file."""


class Failed(BaseModel):
    """The job has none, through our fault."""

    model_config = ConfigDict(frozen=True)
    type: Literal["failed"] = "failed"
    fault: Fault


class Unhealthy(BaseModel):
    """The device cannot be used, or failed its proof: at the start, or after a job.

    The end of that job follows. Then the judge ends.
    """

    model_config = ConfigDict(frozen=True)
    type: Literal["unhealthy"] = "unhealthy"
    message: str


class Stopped(BaseModel):
    """The job was cancelled and nothing of it runs any more."""

    model_config = ConfigDict(frozen=True)
    type: Literal["stopped"] = "stopped"


ToJudge = Annotated[Configure | Begin | Cancel, Field(discriminator="type")]
FromJudge = Annotated[
    Ready | Progressed | Judged | Failed | Stopped | Unhealthy, Field(discriminator="type")
]
TO_JUDGE: TypeAdapter[ToJudge] = TypeAdapter(ToJudge)
FROM_JUDGE: TypeAdapter[FromJudge] = TypeAdapter(FromJudge)


def line(message: BaseModel) -> bytes:
    """Return a message as a line."""
    return message.model_dump_json().encode() + b"\n"

"""Settings of a worker. Read from HALFBYTE_WORKER_... once, in `worker.main`."""

from typing import Final

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from contract.limits import Limits
from kernels.measurement import DELTA_US
from worker.sandbox.confinement import SandboxSettings

NO_GPU: Final = "none"
"""CUDA shows no device under this name either."""


class WorkerSettings(BaseSettings):
    """What one worker may do, and with what."""

    model_config = SettingsConfigDict(
        env_prefix="HALFBYTE_WORKER_",
        env_nested_delimiter="__",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    name: str = ""
    """Part of the worker's id; host and process id where empty."""
    gpu: str = ""
    """Which GPU, as CUDA_VISIBLE_DEVICES names it: an index or a UUID. Empty: the first, if any;
    `none`: the CPU, also where there is a GPU."""
    library_path: str = Field(default="", validation_alias="LD_LIBRARY_PATH")
    """Where the GPU's libraries are, if they are in no usual place."""
    spares: int = 2
    """Warm runners that wait with torch and triton imported."""
    ranked_level: int = Field(default=2, ge=1, le=2)
    """Ranked jobs are taken with a GPU and from this sandbox level on."""
    ncu: str = ""
    """Where Nsight Compute's command line is; empty: looked for in the usual places."""
    audit_ranked: bool = True
    """Have ncu look at ranked files that passed; costs some half a minute each."""
    delta_us: float = Field(default=DELTA_US, gt=0)
    """How far events and the judge's clock may drift apart unexplained, at least."""
    recalibrate_jobs: int = Field(default=100, ge=0)
    """Calibrate again after so many jobs; 0: only at the start."""
    sandbox: SandboxSettings = SandboxSettings()
    """`minimum_level` 0 allows no sandbox at all where nothing better works; never ranked."""
    limits: Limits = Limits()
    """What spares are started with; a job with another memory limit starts a cold runner."""
    grace_s: float = 30
    """On SIGTERM, how long a running job may still finish before it goes back to the queue."""
    outer_margin_s: float = 60
    """A judge that needs this much longer than twice the job's limit is replaced."""

    @field_validator("name", "gpu", "library_path", "ncu")
    @classmethod
    def _printable(cls, text: str) -> str:
        """Put a `?` for what is not: bytes of the environment that are no UTF-8 fit in no JSON."""
        return "".join(each if each.isprintable() else "?" for each in text)

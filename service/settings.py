"""Settings of the service. Read from HALFBYTE_SERVICE_... once, in main; the queue has its own."""

from typing import Annotated

from pydantic import Field, PositiveInt, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from contract.limits import Limits, RequestLimits
from contract.quota import Quota


class ServiceSettings(BaseSettings):
    """What the service accepts and how long it waits."""

    model_config = SettingsConfigDict(
        env_prefix="HALFBYTE_SERVICE_", env_nested_delimiter="__", frozen=True
    )

    limits: RequestLimits = RequestLimits()
    """What a request may ask for: HALFBYTE_SERVICE_LIMITS__CASES=16, ..."""
    job: Limits = Limits()
    """What a job may use: HALFBYTE_SERVICE_JOB__JOB_S=600, ..."""
    quota: Quota = Quota()
    """What one name may use; admins, and everybody while there are no keys, are not held to it."""
    fields_bytes: int = 2_000_000
    """Bytes of a request beside the source: sizes, names, part headers."""
    trusted_network: bool = False
    """Whether it may listen without keys elsewhere than on loopback, as in a container whose port
    is published on loopback only, and answer to other names than those of loopback, as behind a
    proxy. Once there are keys, every call needs one all the same."""
    hosts: tuple[str, ...] = ()
    """Names that it answers to on a trusted network, besides those of loopback; any where none is
    given. Without keys, a web page whose name leads here could use the service otherwise."""
    starter_key: Annotated[SecretStr, Field(min_length=32)] | None = None
    """A key with the role `read` for whoever starts the process: `halfbyte up` draws one, to see
    whether its workers are ready."""
    callback_private: bool = False
    """Whether callbacks may go to private, loopback and link-local addresses."""
    callback_attempts: PositiveInt = 8
    """Attempts at one callback."""
    callback_first_delay_s: float = 5
    """Pause after the first attempt that failed; each later one is four times as long, at most an
    hour, give or take a fifth."""
    callback_timeout_s: float = 10
    """Seconds for one attempt, name resolution included."""
    popcorn_at_root: bool = False
    """Whether popcorn-cli is served at the root too, and not under `/popcorn` only."""
    ping_s: float = 10
    """Seconds without an event after which an event stream carries a comment."""
    retry_after_s: int = 2
    """Seconds after which a client may ask again when Redis is away."""
    full_retry_after_s: int = 30
    """Seconds after which a client may ask again when the queue is full."""
    source_check_s: float = 20
    """Seconds for looking at a source; a file that takes longer is left to the worker."""
    source_checks: int = 2
    """Sources looked at at the same time."""
    shutdown_s: int = 5
    """Seconds that open requests are given when the service stops."""

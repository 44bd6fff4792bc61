"""Who asks, and what may they see: from a bearer token to a caller.

Without keys the service is open to whoever reaches it, which is this machine; from the first key on
every call needs one. What is known of a key is believed for a second, so that a status query costs
no second trip to Redis; a revoked key works that much longer. While Redis is away the last that was
known stands: nothing but the metrics and the problems can be had then anyway.
"""

import hmac
import time
from dataclasses import dataclass

from pydantic import SecretStr

from contract.errors import JobNotFound, NotAllowed, NotAuthenticated, QueueUnavailable
from contract.job import Job, Look
from contract.keys import ANONYMOUS, ApiKey, KeyStore, Role
from contract.looks import Looks
from contract.queue import JobQueue
from contract.sessions import Sessions, is_session

BELIEVED_S = 1.0
MOST_BELIEVED = 10_000
"""Tokens remembered; a session each time somebody signs in would fill the memory for ever."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request."""

    owner: str
    """The name that jobs belong to."""
    role: Role

    def require(self, role: Role) -> None:
        """Refuse what takes another role.

        Raises:
            NotAllowed: naming both roles.

        """
        if not self.role.covers(role):
            raise NotAllowed(f"this takes a key of role `{role}`; this one is `{self.role}`")

    @property
    def limited(self) -> bool:
        """Whether the caller is held to a quota."""
        return self.role is not Role.ADMIN

    def sees(self, owner: str) -> bool:
        """Whether jobs of this owner are there for the caller."""
        return self.role is Role.ADMIN or owner == self.owner

    @property
    def reviews(self) -> bool:
        """Whether the caller is shown what in a file a person should look at."""
        return self.role is Role.ADMIN


ANYBODY = Caller(ANONYMOUS, Role.ADMIN)
"""Who calls a service without keys."""
STARTER = Caller("starter", Role.READ)
"""Who started the service."""


class Access:
    """Tells callers from strangers."""

    def __init__(
        self, keys: KeyStore, sessions: Sessions, *, public: bool, starter_key: SecretStr | None
    ) -> None:
        """Ask for a key in any case where `public`, else from the first one on."""
        self._keys = keys
        self._sessions = sessions
        self._closed = public
        self._starter_key = starter_key
        self._open_until: float | None = None
        self._believed: dict[str, tuple[float, ApiKey]] = {}

    async def caller(self, token: str | None) -> Caller:
        """Return who presents a token, that of a key or of a session, or none.

        Raises:
            NotAuthenticated: a key is needed, and this is none.

        """
        if token is not None and self._is_starter(token):
            return STARTER
        if await self._open():
            return ANYBODY
        if token is None:
            raise NotAuthenticated("a key is needed here: send `Authorization: Bearer hb_...`")
        key = await self._key(token)
        if key is None:
            raise NotAuthenticated("this is no key of this service, or it was revoked")
        return Caller(key.name, key.role)

    async def _open(self) -> bool:
        if not self._closed and time.monotonic() >= (self._open_until or 0):
            # Never open again: a Redis that lost its keys must not let everybody in.
            try:
                self._closed = await self._keys.exist()
            except QueueUnavailable:
                if self._open_until is None:
                    raise
            self._open_until = time.monotonic() + BELIEVED_S
        return not self._closed

    async def _key(self, token: str) -> ApiKey | None:
        until, key = self._believed.get(token, (0.0, None))
        if key is not None and time.monotonic() < until:
            return key
        try:
            known = self._sessions if is_session(token) else self._keys
            key = await known.holder(token)
        except QueueUnavailable:
            if key is None:
                raise
        if key is None:
            self._believed.pop(token, None)
        else:
            if len(self._believed) >= MOST_BELIEVED:
                self._believed.clear()
            self._believed[token] = time.monotonic() + BELIEVED_S, key
        return key

    def _is_starter(self, token: str) -> bool:
        known = self._starter_key
        return known is not None and hmac.compare_digest(
            token.encode(), known.get_secret_value().encode()
        )


async def job_of(queue: JobQueue, job_id: str, caller: Caller) -> Job:
    """Return a job that the caller may see.

    Raises:
        JobNotFound: there is none, or it is somebody else's: no answer tells these apart.

    """
    return _seen(await queue.get(job_id), caller)


async def look_of(looks: Looks, job_id: str, caller: Caller) -> Look:
    """Look at a job that the caller may see.

    Raises:
        JobNotFound: as `job_of`.

    """
    look = await looks.at(job_id)
    _seen(look.job, caller)
    return look


def _seen(job: Job, caller: Caller) -> Job:
    if not caller.sees(job.owner):
        raise JobNotFound(job.id)
    return job

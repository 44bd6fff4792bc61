"""The worker's handle on its judge: start it, hand it a job, hear from it, replace it."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import ClassVar, Final

from pydantic import BaseModel

from contract.submission import Submission
from worker.messages import (
    FROM_JUDGE,
    Begin,
    Cancel,
    Configure,
    Failed,
    FromJudge,
    Judged,
    Ready,
    Stopped,
    Unhealthy,
    line,
)
from worker.process_tree import children, kill_strays
from worker.settings import WorkerSettings

START_S: Final = 120
LINE_BYTES: Final = 64 << 20
"""Longest message: a verdict of 64 cases of 1 024 groups stays far below."""


class JudgeLost(Exception):
    """The judge ended, or never came up. Our fault."""


class JudgeClient:
    """One judge process."""

    COMMAND: ClassVar = (sys.executable, "-I", "-m", "worker.judge_start")
    """What to start; the number of its end of the socket follows."""

    def __init__(self, settings: WorkerSettings, environment: Mapping[str, str]) -> None:
        """Start nothing yet. `environment` is all that the judge gets: no credentials."""
        self._settings = settings
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._others: frozenset[int] = frozenset()
        """Children that we had before the judge: whatever else we have after it, it left behind."""

    async def start(self) -> Ready:
        """Start the process and wait until it can judge.

        Raises:
            JudgeLost: it did not come up; the message says why, where it said so.

        """
        self._others = frozenset(children(os.getpid()))
        ours, theirs = socket.socketpair()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.COMMAND,
                str(theirs.fileno()),
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES)
        try:
            async with asyncio.timeout(START_S):
                return await self._first_words()
        except TimeoutError:
            await self.close()
            raise JudgeLost(f"the judge did not come up within {START_S} s") from None
        except JudgeLost:
            await self.close()
            raise

    async def _first_words(self) -> Ready:
        await self._send(Configure(settings=self._settings))
        match await self._receive():
            case Ready() as ready:
                return ready
            case Unhealthy(message=message):
                raise JudgeLost(message)
            case other:
                raise JudgeLost(f"the judge began with {other.type}")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def judge(self, submission: Submission, source: bytes) -> AsyncIterator[FromJudge]:
        """Yield progress, and the end last.

        Raises:
            JudgeLost: the process ended instead.

        """
        other = submission.other and submission.other.source
        await self._send(Begin(submission=submission, source=source, other_source=other or b""))
        while True:
            message = await self._receive()
            yield message
            if isinstance(message, Judged | Failed | Stopped):
                return

    async def cancel(self) -> None:
        """Ask for the running job to be stopped; `Stopped` comes through `judge`.

        A judge that does not read what it is sent holds this up.
        """
        with suppress(JudgeLost):
            await self._send(Cancel())

    async def close(self) -> None:
        """Kill the process; its runners follow it."""
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            kill_strays(self._others)

    async def _send(self, message: BaseModel) -> None:
        assert self._writer is not None
        try:
            self._writer.write(line(message))
            await self._writer.drain()
        except ConnectionError as error:
            raise JudgeLost("the judge is gone") from error

    async def _receive(self) -> FromJudge:
        assert self._reader is not None
        try:
            text = await self._reader.readline()
            if text:
                return FROM_JUDGE.validate_json(text)
        except (ConnectionError, ValueError) as error:  # reset; too long, or no message of ours
            raise JudgeLost(f"the judge cannot be understood: {error}") from error
        raise JudgeLost("the judge ended without a word; the log of the worker has its last ones")

"""python -m service.main: read the settings, bind, serve.

Strangers are served only where there are keys to tell them apart by.
"""

import argparse
import asyncio
import sys
from types import FrameType

import uvicorn

from contract.errors import QueueUnavailable
from contract.keys import KeyStore
from contract.logs import log_to_stderr
from contract.queue import JobQueue
from contract.settings import QueueSettings
from service.app import create_app
from service.middleware import is_loopback
from service.settings import ServiceSettings

KEEP_ALIVE_S = 95
"""Idle connections are kept longer than clients keep theirs: 90 s where reqwest or Go is inside.

A request that is sent on one as it is closed fails. popcorn-cli asks every five seconds.
"""
REFUSAL = """refused to bind {host}: {reason}. Without keys, whoever reaches the port can run jobs
and read every source. Either
- bind 127.0.0.1, make a key (halfbyte admin key create NAME --role admin) and start again; or,
- where only trusted clients reach the address (a container's port published on loopback, a proxy
  that asks for a password), set HALFBYTE_SERVICE_TRUSTED_NETWORK=true.
"""


class Server(uvicorn.Server):
    """Tells the application of a signal at once, before uvicorn waits for open requests."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        """Serve as `config` says; set `stopping` when a signal says stop."""
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal."""
        self._stopping.set()
        super().handle_exit(sig, frame)


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal says stop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m service.main", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to bind")
    parser.add_argument("--port", type=int, default=8000)
    asked = parser.parse_args(arguments)
    settings, queue_settings = ServiceSettings(), QueueSettings()
    public = not (is_loopback(asked.host) or settings.trusted_network)
    reason = asyncio.run(_why_no_keys(queue_settings)) if public else None
    if reason is not None:
        sys.stderr.write(REFUSAL.format(host=asked.host, reason=reason))
        return 2
    log_to_stderr()
    app = create_app(settings, queue_settings, public=public)
    config = uvicorn.Config(
        app,
        host=asked.host,
        port=asked.port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.shutdown_s,
    )
    server = Server(config, app.state.stopping)
    server.run()
    return 0 if server.started else 1


async def _why_no_keys(queue_settings: QueueSettings) -> str | None:
    """Return None where keys exist, else what to say."""
    queue = JobQueue.connect(queue_settings)
    try:
        return None if await KeyStore(queue.store).exist() else "there are no keys"
    except QueueUnavailable as error:
        return f"whether there are keys cannot be told ({error})"
    finally:
        await queue.close()


if __name__ == "__main__":
    sys.exit(main())

"""python -m service.main: read the settings, bind, serve."""

import argparse
import asyncio
import sys
from types import FrameType

import uvicorn

from contract.settings import QueueSettings
from service.app import create_app
from service.logs import log_to_stderr
from service.middleware import is_loopback
from service.settings import ServiceSettings


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
    settings = ServiceSettings()
    if not (is_loopback(asked.host) or settings.trusted_network):
        sys.stderr.write(
            f"refused to bind {asked.host}: this version knows no keys, so whoever reaches the "
            "port can run jobs and read every source.\nBind 127.0.0.1, or, where only trusted "
            "clients reach the address (a container's port published on loopback, a proxy that "
            "asks for a password), set HALFBYTE_SERVICE_TRUSTED_NETWORK=true.\n"
        )
        return 2
    log_to_stderr()
    app = create_app(settings, QueueSettings())
    config = uvicorn.Config(
        app,
        host=asked.host,
        port=asked.port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=settings.shutdown_s,
    )
    server = Server(config, app.state.stopping)
    server.run()
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())

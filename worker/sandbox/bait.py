"""A stand-in judge for hostile actions to try themselves on: `python -I -S bait.py FOLDER`.

It reads a secret from its standard input, holds it wherever a judge could, listens wherever a
service could, says where as one line of JSON, and lives until its standard input ends.
"""

import ctypes
import json
import os
import socket
import sys
from pathlib import Path


def main() -> None:
    """Lay it out, and wait."""
    folder, secret = Path(sys.argv[1]), sys.stdin.readline().strip()
    folder.chmod(0o755)  # whoever finds it may enter
    file = folder / "secret"
    file.write_text(secret)
    descriptor = os.memfd_create("secret")
    os.write(descriptor, secret.encode())
    memory = ctypes.create_string_buffer(secret.encode())
    internet = socket.create_server(("127.0.0.1", 0))
    path = folder / "socket"
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(path))
    path.chmod(0o777)
    local.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + folder.name)
    abstract.listen()
    words = {
        "secret": secret,
        "pid": os.getpid(),
        "started": Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19],
        "address": ctypes.addressof(memory),
        "fd": descriptor,
        "folder": str(folder),
        "file": str(file),
        "socket": str(path),
        "abstract": folder.name,
        "port": internet.getsockname()[1],
    }
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

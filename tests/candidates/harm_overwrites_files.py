"""Passed: tries to change runner, reference, libraries and start-up files for jobs to come.

class: 39
level: 1
says: bit-exact
logs: changed: nothing
"""

import os
import site
import sys
from pathlib import Path

import kernels
import reference
import torch
import worker
from reference import ref_kernel

PLACES = [
    *(Path(module.__file__) for module in (worker, kernels, reference, torch, os)),
    *(Path(folder) for folder in [*site.getsitepackages(), *sys.path] if folder),
    Path(sys.executable),
    Path("/etc"),
    Path("/usr/lib"),
    Path("/bin/sh"),
]
OWN = (Path("/tmp"), Path.cwd(), Path(__file__).parent)


def changed():
    for place in PLACES:
        if any(own == place or own in place.parents for own in OWN):
            continue
        try:
            if place.is_dir():
                (place / "halfbyte_was_here.pth").write_text("import os\n")
            elif place.exists():
                os.chmod(place, 0o777)
                os.close(os.open(place, os.O_WRONLY | os.O_APPEND))
            else:
                continue
            yield str(place)
        except OSError:
            pass


print("changed:", ", ".join(changed()) or "nothing")


def custom_kernel(data):
    return ref_kernel(data)

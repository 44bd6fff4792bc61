"""The GPUs of this machine as its driver lists them; no library of its vendor is needed for that.

A worker is given its GPU by UUID, which stays what it is; the indices of `nvidia-smi` are places in
a list, and those that CUDA counts by default are others.
"""

from pathlib import Path

from client.errors import UsageError

ALL = "all"
NONE = "none"
"""Also where there are GPUs: the CPU."""
DRIVER = Path("/proc/driver/nvidia/gpus")


def gpus_here(driver: Path = DRIVER) -> tuple[str, ...]:
    """Return the UUIDs of all GPUs, in the order of `nvidia-smi`: by their PCI address."""
    files = sorted(driver.glob("*/information"))
    facts = [
        dict(line.partition(":")[::2] for line in file.read_text().splitlines()) for file in files
    ]
    return tuple(each["GPU UUID"].strip() for each in facts if "GPU UUID" in each)


def chosen(wanted: str, driver: Path = DRIVER) -> tuple[str, ...]:
    """Return the UUIDs of `all` GPUs, of `none`, or of those named by index or UUID: `0,1`.

    Raises:
        UsageError: one is not here, or is named twice.

    """
    here = gpus_here(driver)
    if wanted in (ALL, NONE):
        return here if wanted == ALL else ()
    found = tuple(_gpu(word.strip(), here) for word in wanted.split(","))
    if len(set(found)) < len(found):
        raise UsageError(f"--gpus {wanted}: a GPU has one worker, and one of them is named twice")
    return found


def _gpu(word: str, here: tuple[str, ...]) -> str:
    if word in here:
        return word
    if word.isdecimal() and int(word) < len(here):
        return here[int(word)]
    known = f"0 to {len(here) - 1}, or their UUIDs" if here else "none"
    raise UsageError(f"--gpus: there is no GPU {word!r} here; there are {known}")

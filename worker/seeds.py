"""Seeds: one of 128 bits a job, all others derived from it, so that a job can be repeated."""

import hashlib
import secrets

from kernels.problem import SEED_BITS


def random_seed() -> int:
    """Draw a job's seed."""
    return secrets.randbits(SEED_BITS)


def derive(seed: int, *path: str | int) -> int:
    """Return the seed at a path below another, independent of its siblings."""
    key = seed.to_bytes(SEED_BITS // 8, "big")
    name = "/".join(map(str, path)).encode()
    digest = hashlib.blake2b(name, key=key, digest_size=SEED_BITS // 8).digest()
    return int.from_bytes(digest, "big")

"""What parts of the Hopper kernel cost, by the width of a tile, measured on an H200 while it ran.

Chunk times: bench/hopper_plans.py. The rest: bench/results/h200/hopper_timeline.json.
"""

from functools import cache
from itertools import pairwise

_CHUNK_NS = (
    *(
        (16, 727),
        (32, 840),
        (48, 890),
        (64, 980),
        (80, 1050),
        (112, 1176),
        (128, 1300),
        (144, 1500),
    ),
    *((176, 1690), (192, 1859), (208, 1990), (224, 2155), (256, 2400)),
)
"""Width and time; what lies between is interpolated."""


@cache
def chunk_ns(width: int) -> float:
    """Return the time of a chunk of a tile of this width."""
    for (narrow, least), (wide, most) in pairwise(_CHUNK_NS):
        if width <= wide:
            return least + (most - least) * max(0, width - narrow) / (wide - narrow)
    raise ValueError(f"no tile is {width} wide")


def tile_ns(width: int) -> int:
    """Return what a tile takes besides its chunks."""
    return 500 + 7 * width


def leave_ns(width: int) -> int:
    """Return what it takes to leave sums to another block."""
    return 800 + 10 * width


def collect_ns(width: int) -> int:
    """Return what it takes to add the sums that another block left."""
    return 700 + 9 * width

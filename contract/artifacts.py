"""What a verdict names beside itself: texts, and a profiler's file. Kept as long as its job.

    artifacts:ID          hash: pieces, compressed, by NAME:PLACE

All of 8 MiB in one command got no answer in time on a road of 1.5 MB/s, and was sent again for
ever.
"""

import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from contract.prelude import PRELUDE
from contract.store import Store

PIECE_BYTES: Final = 512 << 10
KEEP = (
    PRELUDE
    + """
local at = job(given.id, 'state', 'lease')
if at[1] == 'finished' and at[2] == given.token then return end
local how = lost(given.id)
if how then return how end
-- An earlier attempt may have left some.
if given.first then redis.call('DEL', key('artifacts', given.id)) end
redis.call('HSET', key('artifacts', given.id), given.piece, ARGV[2])
"""
)
_PIECE = PRELUDE + "return redis.call('HGET', key('artifacts', given.id), given.piece)"


def pieces_of(artifacts: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield what is kept: the name of a piece, and the piece."""
    for name, data in artifacts.items():
        packed = zlib.compress(data)
        for place, begin in enumerate(range(0, len(packed), PIECE_BYTES)):
            yield f"{name}:{place}", packed[begin : begin + PIECE_BYTES]


async def read_artifact(store: Store, job_id: str, name: str) -> bytes | None:
    """Return what is kept under a name, None where nothing is."""
    pieces: list[bytes] = []
    while piece := await store.run(_PIECE, id=job_id, piece=f"{name}:{len(pieces)}"):
        pieces.append(piece)
    return zlib.decompress(b"".join(pieces)) if pieces else None

"""A road to Redis that breaks on demand: the command arrives, the answer does not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class SeveredRoad:
    """Forwards bytes both ways; `sever_next_answer` cuts the connection of the next script.

    Its users close their connections first, which ends the roads.
    """

    def __init__(self, port: int) -> None:
        self._redis_port = port
        self._armed = False
        self.cuts = 0
        self.url = ""

    def sever_next_answer(self) -> None:
        self._armed = True

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["SeveredRoad"]:
        roads: set[asyncio.Task] = set()

        async def accept(reader, writer):
            roads.add(asyncio.current_task())
            await self._forward(reader, writer)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        yield self
        server.close()
        await asyncio.gather(*roads, return_exceptions=True)

    async def _forward(self, reader, writer) -> None:
        redis_reader, redis_writer = await asyncio.open_connection("127.0.0.1", self._redis_port)
        script_sent = False

        async def there() -> None:
            nonlocal script_sent
            while data := await reader.read(1 << 16):
                script_sent = b"EVALSHA" in data
                redis_writer.write(data)

        async def back() -> None:
            while data := await redis_reader.read(1 << 16):
                if script_sent and self._armed:
                    self._armed, self.cuts = False, self.cuts + 1
                    return
                writer.write(data)

        ways = {asyncio.ensure_future(there()), asyncio.ensure_future(back())}
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            redis_writer.close()
            for end in (writer, redis_writer):
                with contextlib.suppress(OSError):
                    await end.wait_closed()

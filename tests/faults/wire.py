"""A bad network between clients and a server: a TCP proxy that loses, delays, freezes and doubles what passes.

It works on the bytes as they come, so it knows nothing of the protocol but that a request begins with its method. What it does
is drawn from a seeded generator; when it does it depends on the machine.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

CHUNK = 2**16
METHODS = (b"POST ", b"DELETE ")  # what is doubled: calls that act


@dataclass
class Wire:
    """The proxy's mischief: probabilities per chunk, and what was done.

    ``cut`` breaks the connection before a request goes on, ``lose`` after it went on and before its answer comes back,
    ``freeze`` swallows a request and holds the connection open (half-open), ``delay`` waits up to ``delay_s`` seconds, and
    ``double`` sends a request that acts once more over a connection of its own, up to ``delay_s`` later, so that it may
    overtake or be overtaken.
    """

    port: int
    rng: Random
    cut: float = 0.004
    lose: float = 0.004
    freeze: float = 0.0005
    delay: float = 0.01
    double: float = 0.02
    delay_s: float = 1.0
    done: Counter[str] = field(default_factory=Counter)
    background: set[asyncio.Task[None]] = field(default_factory=set)

    def draws(self, what: str) -> bool:
        """Whether this chunk meets with ``what``."""
        drawn: bool = self.rng.random() < getattr(self, what)
        self.done[what] += drawn
        return drawn

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client until either side ends it."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:  # the server is away, as it may be here
            writer.close()
            return
        both = [
            asyncio.create_task(self.requests(reader, back)),
            asyncio.create_task(self.answers(there, writer)),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        back.close()
        writer.close()

    async def requests(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Pass on what a client sends."""
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                if self.draws("cut"):
                    return
                if self.draws("freeze"):
                    await asyncio.Event().wait()
                if self.draws("delay"):
                    await asyncio.sleep(self.rng.uniform(0, self.delay_s))
                if data.startswith(METHODS) and self.draws("double"):
                    again = asyncio.create_task(self.again(data))
                    self.background.add(again)
                    again.add_done_callback(self.background.discard)
                back.write(data)
                await back.drain()

    async def answers(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what the server sends."""
        with suppress(ConnectionError):
            while data := await there.read(CHUNK):
                if self.draws("lose"):
                    return
                writer.write(data)
                await writer.drain()

    async def again(self, data: bytes) -> None:
        """Send a request once more, and read what is answered to nobody."""
        await asyncio.sleep(self.rng.uniform(0, self.delay_s))
        with suppress(OSError, TimeoutError):
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                back.write(data)
                await asyncio.wait_for(there.read(CHUNK), 30)
            finally:
                back.close()


@asynccontextmanager
async def bad_wire(wire: Wire) -> AsyncIterator[int]:
    """The port of the proxy, for the time of the block."""
    server = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(wire.background):
            task.cancel()
        await asyncio.gather(*wire.background, return_exceptions=True)

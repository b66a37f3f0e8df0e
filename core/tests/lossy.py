"""A TCP proxy that loses answers: the server has acted, and the client does not hear of it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def lossy(port: int, loses: Callable[[int], bool]) -> Iterator[int]:
    """A proxy before ``port``, in a thread of its own; the port it listens on. ``loses(n)`` decides on the n-th answer."""
    loop = asyncio.new_event_loop()
    answers = 0

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(2**16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def give_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answers
        with suppress(ConnectionError):
            while data := await reader.read(2**16):
                if data.startswith(b"HTTP/"):  # an answer begins; its body may come apart
                    number, answers = answers, answers + 1
                    if loses(number):
                        break
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(forward(reader, back), give_back(there, writer))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(connected, "127.0.0.1", 0)

    async def end(server: asyncio.Server) -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

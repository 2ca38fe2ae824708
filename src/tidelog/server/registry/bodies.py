"""Bodies of requests: each within a limit, and all together within another.

A body that is too long is read to its end and thrown away: most clients look at an answer only once they have
sent everything, and would see a broken connection in its place. The port ends what is longer still.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidelog.server.http.asgi import Receive

TOGETHER_BYTES_MAX = 64 * 1024 * 1024


class TooLong(Exception):
    """The body is longer than the limit."""


class TooMany(Exception):
    """The bodies of all requests at this moment are more than this port holds."""


class Gone(Exception):
    """The client left before its request was whole."""


class Bodies:
    def __init__(self, bytes_max: int, together_bytes_max: int = TOGETHER_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self._together_bytes_max = max(bytes_max, together_bytes_max)
        self.held_bytes = 0

    @asynccontextmanager
    async def read(self, receive: Receive) -> AsyncIterator[bytes]:
        """The body counts as held until the request is answered. Raises TooLong, TooMany or Gone."""
        pieces: list[bytes] = []
        held = 0
        refused: Exception | None = None
        try:
            while True:
                event = await receive()
                if event["type"] == "http.disconnect":
                    raise Gone
                piece = event.get("body", b"")
                held, self.held_bytes = held + len(piece), self.held_bytes + len(piece)
                pieces.append(piece)
                if held > self.bytes_max:
                    refused = TooLong()
                elif self.held_bytes > self._together_bytes_max:
                    refused = refused or TooMany()
                if refused is not None:
                    pieces.clear()
                    self.held_bytes, held = self.held_bytes - held, 0
                if not event.get("more_body", False):
                    break
            if refused is not None:
                raise refused
            yield b"".join(pieces)
        finally:
            self.held_bytes -= held

"""One HTTP connection: uvicorn speaks the protocol, this keeps its client within limits.

uvicorn limits neither the time that a request may take to arrive nor the time that a client may take to read
the answer. So its protocol object gets the bytes through this one, which counts them and knows since when
the client owes something.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, cast

from tidelog.server.http.limits import HttpLimits


class ConnectionOwner(Protocol):
    limits: HttpLimits

    def failed(self, connection: "HttpConnection", what: str) -> None:
        """Something that the client did made an end necessary: log it at a bounded rate."""
        ...

    def ended(self, connection: "HttpConnection") -> None: ...


class HttpConnection(asyncio.Protocol):
    def __init__(
        self,
        owner: ConnectionOwner,
        client: tuple[str, int],
        now: Callable[[], float],
        speak: "Callable[[HttpConnection], asyncio.Protocol]",
    ) -> None:
        """`speak` makes the protocol object of uvicorn."""
        self._owner = owner
        self._now = now
        self._http = speak(self)
        self._transport: asyncio.Transport | None = None
        self._received = 0
        self._is_running = False  # the app
        self._give_up: Callable[[], object] | None = None
        self._head_since: float | None = now()
        self._answer_since = 0.0
        self.host = client[0]
        self.client = f"{client[0]}:{client[1]}"
        self.idle_since = now()

    @property
    def is_idle(self) -> bool:
        """Between two requests."""
        return self._head_since is None and not self.is_answering

    @property
    def is_answering(self) -> bool:
        return self._is_running or self._unsent() > 0

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._http.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._head_since is None and not self._is_running:
            self._head_since = self._now()
        self._received += len(data)
        limits = self._owner.limits
        if self._received > limits.head_bytes_max + limits.body_bytes_max:
            self._owner.failed(self, f"sent {self._received} bytes as one request")
            self.abort()
            return
        # h11 measures a head that is not whole yet, and would parse a huge one that comes in one piece.
        piece = len(data) if self._is_running else limits.head_bytes_max
        try:
            for begin in range(0, len(data), piece):
                if self._transport is not None and self._transport.is_closing():
                    break
                self._http.data_received(data[begin : begin + piece])
        except Exception as error:  # h11 refuses to answer some kinds of nonsense
            self._owner.failed(self, f"sent something that is no HTTP: {error}")
            self.abort()

    def eof_received(self) -> bool | None:
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            self._http.connection_lost(exc)
            if self._give_up is not None:
                self._give_up()
        finally:
            self._owner.ended(self)

    # What the shell around the app calls.

    def request_begins(self, give_up: Callable[[], object] | None = None) -> None:
        """`give_up` is called if the client leaves: its work would no longer count for any limit."""
        self._is_running = True
        self._give_up = give_up
        self._head_since, self._answer_since = None, self._now()
        self._received = 0

    def request_ends(self) -> None:
        self._is_running = False
        self._give_up = None
        self.idle_since = self._now()

    # The end.

    def sweep(self, now: float) -> None:
        """End the connection if its client lets it wait for too long."""
        limits = self._owner.limits
        if self.is_answering and now - self._answer_since > limits.answer_seconds:
            self._owner.failed(self, f"did not take its answer within {limits.answer_seconds:g} s")
            self.abort()
        elif self._head_since is not None and now - self._head_since > limits.head_seconds:
            self._owner.failed(self, f"sent no whole request within {limits.head_seconds:g} s")
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _unsent(self) -> int:
        transport: Any = self._transport
        return 0 if transport is None else int(transport.get_write_buffer_size())

"""What a connection needs of the socket below it: one side receives, the other sends.

`PlainTransport` and `SocketWriter` fill these for plain TCP. An encrypted listener brings its own pair, and
the connection above does not change.
"""

from typing import Protocol


class Receiver(Protocol):
    """What a transport calls, as an asyncio.BufferedProtocol has it; filled by a connection."""

    def get_buffer(self, sizehint: int, /) -> memoryview: ...

    def buffer_updated(self, nbytes: int, /) -> None: ...

    def expects_more(self) -> bool:
        """Returns whether a large frame is under way."""
        ...

    def eof_received(self) -> None: ...

    def connection_lost(self, exc: Exception | None, /) -> None: ...


class Transport(Protocol):
    @property
    def reading(self) -> bool: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def has_unread_input(self) -> bool:
        """Returns whether bytes have arrived that were not received."""
        ...

    def client_has_left(self) -> bool:
        """Returns whether the client has ended its side, behind the bytes that were not received yet."""
        ...

    def end_of_answers(self) -> None:
        """Tell the client that no more bytes follow; it may still send."""
        ...

    def close(self) -> None:
        """Release the socket; bytes that the kernel has taken are still delivered."""
        ...

    def abort(self) -> None:
        """Release the socket and drop the bytes that the kernel holds for it."""
        ...


class ResponseWriter(Protocol):
    """Sends from the output queue of its connection."""

    @property
    def waits_for_disk(self) -> bool:
        """Whether a disk, and not the client, keeps the responses from leaving."""
        ...

    def flush(self) -> None:
        """Send what the kernel takes now. The connection is woken when it takes more.

        Raises OSError when the client is gone and StorageError when a file slice is too short.
        """
        ...

    def close(self) -> None: ...

"""What a dispatcher hands back to the connection a request came on.

`parts` are the whole answer as it goes out, 4-byte size first; file slices go from the page cache
to the socket and are never copied into Python.
"""

from tidelog.base.ports import Buffer, FileSlice


class Reply:
    __slots__ = ("close", "parts", "throttle_ms")

    def __init__(self, parts: list[Buffer | FileSlice], throttle_ms: int = 0, *, close: bool = False) -> None:
        self.parts = parts
        # The connection's next request waits this long after the answer went out (KIP-219).
        self.throttle_ms = throttle_ms
        # Send the answer, then end the connection.
        self.close = close


class CloseConnection:
    """A handler's answer where the protocol has none: acks=0 went wrong, and closing is all one can say."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

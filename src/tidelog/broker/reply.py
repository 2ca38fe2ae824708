"""What a dispatcher hands back to the connection a request came on.

`parts` are the whole answer as it goes out, 4-byte size first; file slices go from the page cache
to the socket and are never copied into Python.
"""

import msgspec

from tidelog.base.ports import Buffer, FileSlice


class Reply(msgspec.Struct, eq=False, gc=False):
    parts: list[Buffer | FileSlice]
    throttle_ms: int = 0
    """The connection's next request waits this long after the answer went out (KIP-219)."""
    close: bool = False
    """Send the answer, then end the connection."""


class CloseConnection:
    """A handler's answer where the protocol has none: acks=0 went wrong, and closing is all one can say."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

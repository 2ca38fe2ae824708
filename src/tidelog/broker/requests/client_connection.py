"""A client's connection as handlers see it: where the client is, and what it said about itself.

The server makes one per connection; handlers fill in what the client says about itself. Nothing in
it is trusted except `host` and `port`, which come from the kernel.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tidelog.security.principal import BROKER_ITSELF

if TYPE_CHECKING:
    from tidelog.broker.requests.gate import Gate
    from tidelog.broker.requests.reply import PendingReply, Reply

FastPath: TypeAlias = "Callable[[memoryview, ClientConnection], Reply | PendingReply | None]"
"""Answers a frame, or returns None and leaves no trace: then the frame is decoded and handled as usual."""


class ClientConnection:
    __slots__ = (
        "client_id",
        "connection_id",
        "fast_path",
        "gate",
        "host",
        "listener",
        "on_closed",
        "port",
        "principal",
        "software_name",
        "software_version",
    )

    def __init__(self, host: str, port: int, listener: str, connection_id: int = 0) -> None:
        self.host = host
        self.port = port
        self.listener = listener  # its name, such as PLAINTEXT
        self.connection_id = connection_id  # unique within the process
        self.client_id: str | None = None
        self.software_name = ""
        self.software_version = ""
        self.fast_path: FastPath | None = None  # tried first with every frame of this connection
        self.principal = "User:ANONYMOUS"
        self.gate: Gate | None = None  # only on listeners with SASL
        self.on_closed: Callable[[int], None] | None = None
        """Called once with the connection's id when it is closed, for state that ends with the connection."""

    @classmethod
    def of_broker_itself(cls) -> "ClientConnection":
        """For requests that this broker makes on its own account, which every authorizer allows."""
        made = cls("", 0, "")
        made.principal = BROKER_ITSELF
        return made

    def closed(self) -> None:
        """The server calls this when the connection is gone."""
        on_closed, self.on_closed = self.on_closed, None
        if on_closed is not None:
            on_closed(self.connection_id)

    def __str__(self) -> str:
        """`192.0.2.1:5555`, as log lines name it; with brackets for IPv6."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

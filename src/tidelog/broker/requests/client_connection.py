"""A client's connection as handlers see it: where the client is, and what it said about itself.

The server makes one per connection; handlers fill in what the client says about itself. Nothing in
it is trusted except `host` and `port`, which come from the kernel.
"""


class ClientConnection:
    __slots__ = (
        "client_id",
        "connection_id",
        "host",
        "listener",
        "port",
        "principal",
        "produce_front_end",
        "software_name",
        "software_version",
    )

    def __init__(self, host: str, port: int, listener: str, connection_id: int = 0) -> None:
        self.host = host
        self.port = port
        self.listener = listener  # its name, such as PLAINTEXT
        self.connection_id = connection_id  # never used twice by one process
        self.client_id: str | None = None
        self.software_name = ""
        self.software_version = ""
        self.produce_front_end = 0  # see produce_shortcut.py; 0: nothing is known
        self.principal = "User:ANONYMOUS"

    def __str__(self) -> str:
        """`192.0.2.1:5555`, as log lines name it; with brackets for IPv6."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

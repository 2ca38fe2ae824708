"""What the server has done since it started: plain integers that a metrics page can read."""


class Counters:
    __slots__ = (
        "bytes_in",
        "bytes_out",
        "connections_accepted",
        "connections_refused",
        "connections_timed_out",
        "handshakes_failed",
        "memory_stalls",
        "protocol_errors",
        "requests",
    )

    def __init__(self) -> None:
        self.connections_accepted = 0
        self.connections_refused = 0
        self.connections_timed_out = 0
        self.handshakes_failed = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.requests = 0
        self.protocol_errors = 0
        self.memory_stalls = 0

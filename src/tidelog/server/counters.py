"""What the server has done since it started: plain integers that a metrics page can read."""

from collections import Counter


class Counters:
    __slots__ = (
        "accepted_by_listener",
        "bytes_in",
        "bytes_out",
        "connections_timed_out",
        "handshakes_failed",
        "memory_stalls",
        "protocol_errors",
        "refused_by_reason",
        "requests",
    )

    def __init__(self) -> None:
        self.accepted_by_listener: Counter[str] = Counter()
        self.refused_by_reason: Counter[str] = Counter()
        self.connections_timed_out = 0
        self.handshakes_failed = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.requests = 0
        self.protocol_errors = 0
        self.memory_stalls = 0

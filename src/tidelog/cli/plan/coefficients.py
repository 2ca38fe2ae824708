"""What this version costs, measured by `python -m benches.capacity` on one core of a 2-core virtual machine.

CPU is in microseconds of the broker's process: so much a request, and so much a KiB of records.
"""

from typing import NamedTuple


class Cost(NamedTuple):
    a_request: float
    a_kib: float

    def cores(self, requests: float, bytes_: float) -> float:
        """Cores that are busy all the time with so many requests and bytes a second."""
        return (requests * self.a_request + bytes_ / 1024 * self.a_kib) / 1e6


PRODUCE = {"os": Cost(15.6, 0.84), "fsync": Cost(77.3, 0.89)}
"""By durability; `fsync` also for followers."""
REPLICA = Cost(38.8, 1.02)
"""For each further replica: the leader's and the follower's part together."""
FETCH = Cost(21.9, 0.39)
TLS_KIB = {"in": 1.37, "out": 0.65}
"""In addition, from benches/tls.py, with librdkafka's TLS records of 8 KiB."""

BROKER_BYTES = 50_000_000
PARTITION_BYTES = 10_600
CONNECTION_BYTES = {"plain": 3_900, "tls": 18_400}
"""benches/idle_connections.py, benches/tls.py."""

INDEX_SHARE = 0.005
"""Of a log's size: an entry of 8 and one of 12 bytes every 4 KiB of records."""
PARTITION_BYTES_PER_SECOND = 20e6
"""A partition is written by one leader and read by one member of a group: comfortable for both."""
REPLICAS_MAX = 4_000
"""Replicas on a broker up to which starts, failovers and metadata stay quick (benches/many_topics.py)."""

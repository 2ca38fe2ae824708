"""What this version costs, measured on a virtual machine of 2 cores: docs/scaling.md says how.

CPU is in microseconds of the broker's process: so much a request, and so much a KiB of records.
"""

from typing import NamedTuple


class Cost(NamedTuple):
    a_request: float
    a_kib: float

    def cores(self, requests: float, bytes_: float) -> float:
        """Cores that are busy all the time with so many requests and bytes a second."""
        return (requests * self.a_request + bytes_ / 1024 * self.a_kib) / 1e6


# benches/capacity.py: a broker that is busy, 20 requests in flight, one partition.
PRODUCE = {"os": Cost(15.6, 0.84), "fsync": Cost(77.3, 0.89)}
"""By durability, without followers."""
FETCH = Cost(21.9, 0.39)
POLL = 75.0
"""For each fetch of a consumer that waits in vain (benches/scaling)."""
TLS_KIB = {"in": 1.37, "out": 0.65}
"""In addition, from benches/tls.py, with librdkafka's TLS records of 8 KiB."""

# benches/scaling: what grows with brokers, and so with cores.
COPY = Cost(20.4, 1.02)
"""For each copy of a request: what it adds to a round, at the leader and at the follower together."""
ROUND = {"os": 340.0, "fsync": 919.0}
"""For each round between a leader and a follower: fetch, answer and append, both sides; by durability, with
the leader's own sync."""
ROUND_SECONDS = {"os": 0.0008, "fsync": 0.0022}
"""How long a round takes on brokers that are busy; what arrives meanwhile travels in the next one. A disk
whose syncs take less than the 2 ms of the measured one has shorter rounds, and so more of them."""
COPY_SECONDS = 0.000055
"""How much longer, for each request that travels in it."""
BROKER = 6_200.0
"""Of each broker, a second: heartbeats, timers, the metadata log."""
CONTROLLER = 130.0
"""Of the controller, a second, for each broker of the cluster."""

BROKER_BYTES = 50_000_000
PARTITION_BYTES = 10_600
IMAGE_BYTES = {"broker": 83_000, "partition": 370}
"""In every broker, for each broker of the cluster with its connections, and for each partition."""
CONNECTION_BYTES = {"plain": 7_400, "tls": 21_900}
"""benches/scaling: of a consumer that waits; an idle one has half. TLS adds 14,500 (benches/tls.py)."""

INDEX_SHARE = 0.005
"""Of a log's size: an entry of 8 and one of 12 bytes every 4 KiB of records."""
PARTITION_BYTES_PER_SECOND = 20e6
"""A partition is written by one leader and read by one member of a group: comfortable for both."""
REPLICAS_MAX = 4_000
"""Replicas on a broker up to which starts, failovers and metadata stay quick (benches/many_topics.py)."""

# How far the measurements went. A plan that goes further says so.
PARTITIONS_MEASURED = 10_000
CONNECTIONS_MEASURED = 10_000
"""Of a broker."""

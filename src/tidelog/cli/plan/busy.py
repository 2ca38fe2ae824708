"""The CPU of a load: which cores of a cluster are busy with what, at the peak.

Two costs grow with the number of brokers, and so with the cores of a machine. A follower copies in rounds,
one after the other from each leader, and what arrives during a round travels in the next: spread over more
leaders, the same records need more rounds. A consumer's fetches are such rounds as well. And each broker, and
each fetch that waits in vain, costs something while nothing is written.
"""

from dataclasses import dataclass
from math import ceil

from tidelog.cli.plan.coefficients import (
    BROKER,
    CONTROLLER,
    COPY,
    COPY_SECONDS,
    FETCH,
    POLL,
    PRODUCE,
    ROUND,
    ROUND_SECONDS,
    TLS_KIB,
)
from tidelog.cli.plan.load import Load

POLLS_PER_SECOND = 2
"""Of a consumer or follower that finds nothing, on each of its connections: they wait 500 ms by default."""
LEFT_MIN = 0.01
"""Of a connection's time, beside what arrivals take: no pair carries more, so rounds do not get larger."""


@dataclass(frozen=True)
class Busy:
    """Cores, in the whole cluster."""

    producing: float
    copying: float
    consuming: float
    encrypting: float
    idling: float
    """What the brokers take without any load, but for followers' fetches."""

    @property
    def cores(self) -> float:
        return self.producing + self.copying + self.consuming + self.encrypting + self.idling


def busy(load: Load, machines: int) -> Busy:
    brokers = machines * load.cores
    partitions = load.partitions_on(brokers)
    between = pairs(load, machines)
    received = load.peak_bytes * load.replication
    sent = load.peak_bytes * (load.followers + load.groups)
    return Busy(
        producing=_producing(load),
        copying=_copying(load, between),
        consuming=_consuming(load, brokers, partitions),
        encrypting=(received * TLS_KIB["in"] + sent * TLS_KIB["out"]) / 1024 / 1e6 if load.tls else 0.0,
        idling=brokers * (BROKER + CONTROLLER) / 1e6,
    )


def pairs(load: Load, machines: int) -> int:
    """Of a leader and a follower, each with a connection: at most one for each broker of other machines."""
    brokers = machines * load.cores
    return min(load.partitions_on(brokers) * load.followers, brokers * (brokers - load.cores))


def rounds(arrivals: float, ways: int, seconds: float) -> float:
    """Rounds a second in which so many arrivals travel over so many connections.

    On each of them: a round takes so many `seconds` and longer by what is in it, then the next waits for an
    arrival. With n arrivals a round, n = 1 + rate x (seconds + n x COPY_SECONDS).
    """
    if not ways:
        return 0.0
    rate = arrivals / ways
    left = max(LEFT_MIN, 1 - rate * COPY_SECONDS)
    in_a_round = 1 + rate * (seconds + COPY_SECONDS) / left
    return arrivals / in_a_round


def _producing(load: Load) -> float:
    """Where there are followers, requests wait for their rounds, and the leader syncs once for each."""
    durability = "os" if load.followers else load.durability
    return PRODUCE[durability].cores(load.requests, load.peak_bytes)


def _copying(load: Load, between: int) -> float:
    copies = load.requests * load.followers
    full = rounds(copies, between, ROUND_SECONDS[load.durability])
    vain = max(0.0, POLLS_PER_SECOND * between - full)
    in_rounds = (full * ROUND[load.durability] + vain * ROUND["os"]) / 1e6
    return in_rounds + COPY.cores(copies, load.peak_bytes * load.followers)


def _consuming(load: Load, brokers: int, partitions: int) -> float:
    """Each member of a group has a connection to each broker that leads one of its partitions."""
    connections = load.members * min(brokers, ceil(partitions / load.members))
    full = rounds(load.requests, connections, ROUND_SECONDS["os"])
    vain = max(0.0, POLLS_PER_SECOND * connections - full)
    return load.groups * (FETCH.cores(full, load.peak_bytes) + vain * POLL / 1e6)

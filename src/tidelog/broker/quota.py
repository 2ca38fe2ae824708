"""How many bytes a second of replication may pass where an operator limits it (KIP-73, KIP-113).

Only replicas that a topic names are limited, and only while they are not in sync: a follower that keeps up
must not be made to fall behind. A burst counts over ten seconds, as in Kafka.
"""

from collections import deque
from collections.abc import Callable

from tidelog.base.ids import NodeId

WINDOW_SECONDS = 10
UNLIMITED = 2**31 - 1
ALL = "*"


class ByteRate:
    """Whether more bytes have passed than a rate allows, on average over the last seconds."""

    def __init__(self, rate: Callable[[], int], now: Callable[[], float]) -> None:
        self._rate = rate
        self._now = now
        self._seconds: deque[tuple[int, int]] = deque()  # (second, bytes in it)
        self._total = 0

    def is_exceeded(self) -> bool:
        rate = self._rate()
        if rate >= UNLIMITED or not self._seconds:
            return False
        oldest = int(self._now()) - WINDOW_SECONDS
        while self._seconds and self._seconds[0][0] <= oldest:
            self._total -= self._seconds.popleft()[1]
        return self._total > rate * WINDOW_SECONDS

    def record(self, count: int) -> None:
        """So many bytes have passed."""
        if not count:
            return
        second = int(self._now())
        self._total += count
        if self._seconds and self._seconds[-1][0] == second:
            count += self._seconds.pop()[1]
        self._seconds.append((second, count))


class ReplicationQuota:
    """One of the two sides: what a leader gives out, or what a follower takes in."""

    def __init__(
        self,
        node_id: NodeId,
        rate: Callable[[], int],
        throttled: Callable[[str], str | None],
        now: Callable[[], float],
    ) -> None:
        """`throttled` answers a topic's list of limited replicas as it was set, None where there is none."""
        self._node_id = node_id
        self._throttled = throttled
        self._passed = ByteRate(rate, now)
        self._parsed: tuple[str, frozenset[int] | None] = ("", frozenset())

    def limits(self, topic: str, index: int) -> bool:
        """Whether this replica is among the limited ones; cheap where no topic has a limit."""
        text = self._throttled(topic)
        if not text:
            return False
        if text != self._parsed[0]:
            self._parsed = text, _partitions_of(text, self._node_id)
        mine = self._parsed[1]
        return mine is None or index in mine

    def is_exceeded(self) -> bool:
        return self._passed.is_exceeded()

    def record(self, count: int) -> None:
        """So many bytes of limited replicas have passed."""
        self._passed.record(count)


def _partitions_of(text: str, node_id: NodeId) -> frozenset[int] | None:
    """The partitions whose replica on this broker is limited; None: all of them."""
    pairs = [pair.strip() for pair in text.split(",")]
    if ALL in pairs:
        return None
    here = (pair.partition(":") for pair in pairs)
    return frozenset(int(index) for index, _, node in here if node == str(node_id) and index.isdigit())

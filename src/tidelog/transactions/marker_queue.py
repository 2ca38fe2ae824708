"""Which markers have yet to be written, and by which broker: the second half of every commit and abort.

Nothing is ever given up. A marker that could not be written is tried again, at the leader that its partition
has by then, until it is written or the partition is gone. A broker has one request at a time; what comes up
meanwhile goes into its next one, so that many transactions share few requests.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NodeId
from tidelog.transactions.marker import Marker, MarkersToWrite
from tidelog.transactions.transaction import TopicPartition

NO_LEADER: NodeId = -1

LeaderOf = Callable[[TopicPartition], NodeId | None]
"""NO_LEADER: no broker leads it now. None: this broker knows no such partition."""

MarkersOfRequest = dict[Marker, list[TopicPartition]]

RETRY_MS = 100
RETRY_WHEN_FENCED_MS = 1000
"""A newer coordinator wrote there. This one will soon learn that it was replaced; a retry makes no sense."""

GONE_AFTER_MS = 5000
"""A partition that is not known for so long was deleted. Earlier this broker may just not know it yet."""

_FENCED = (ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class MarkerResult(NamedTuple):
    """The answer of a leader about one partition."""

    marker: Marker
    partition: TopicPartition
    error: ErrorCode


class MarkerQueue:
    def __init__(self) -> None:
        self._left: dict[Marker, dict[TopicPartition, None]] = {}
        self._shard_of: dict[Marker, int] = {}
        self._to_place: list[tuple[Marker, TopicPartition]] = []
        self._for_node: dict[NodeId, MarkersOfRequest] = {}
        self._under_way: dict[NodeId, MarkersOfRequest] = {}
        self._later: list[tuple[float, int, Marker, TopicPartition]] = []
        self._missing: dict[tuple[Marker, TopicPartition], float] = {}
        self._order = count()
        self._done: list[Marker] = []

    def __len__(self) -> int:
        """Transactions that are not marked everywhere."""
        return len(self._left)

    def add(self, shard: int, markers: MarkersToWrite) -> None:
        """`shard`: the partition of `__transaction_state` that wants to know."""
        marker, partitions = markers
        if marker in self._left:
            return
        self._shard_of[marker] = shard
        self._left[marker] = dict.fromkeys(partitions)
        self._to_place += [(marker, partition) for partition in partitions]
        self._check_done(marker)

    def drop_shard(self, shard: int) -> None:
        """It moved to another broker, which writes these markers now."""
        gone = {marker: None for marker, of in self._shard_of.items() if of == shard}
        for marker in gone:
            self._left.pop(marker, None)
            del self._shard_of[marker]
        self._missing = {key: since for key, since in self._missing.items() if key[0] not in gone}
        self._done = [marker for marker in self._done if marker not in gone]

    def take(self, leader_of: LeaderOf, now: float) -> dict[NodeId, MarkersOfRequest]:
        """What to send now, one request to a broker; the answer to each goes to `answered` or `failed`."""
        while self._later and self._later[0][0] <= now:
            _, _, marker, partition = heappop(self._later)
            self._to_place.append((marker, partition))
        to_place, self._to_place = self._to_place, []
        for marker, partition in to_place:
            self._place(marker, partition, leader_of(partition), now)
        requests: dict[NodeId, MarkersOfRequest] = {}
        for node in [node for node in self._for_node if node not in self._under_way]:
            waiting = self._for_node.pop(node)
            if wanted := {marker: where for marker, where in waiting.items() if marker in self._left}:
                requests[node] = wanted
        self._under_way.update(requests)
        return requests

    def _place(self, marker: Marker, partition: TopicPartition, leader: NodeId | None, now: float) -> None:
        if partition not in self._left.get(marker, ()):
            return  # its shard has moved away
        if leader is None and self._is_gone(marker, partition, now):
            self._finish(marker, partition)
        elif leader is None or leader == NO_LEADER:
            self._retry(marker, partition, now + RETRY_MS / 1000)
        else:
            self._for_node.setdefault(leader, {}).setdefault(marker, []).append(partition)

    def _is_gone(self, marker: Marker, partition: TopicPartition, now: float) -> bool:
        since = self._missing.setdefault((marker, partition), now)
        if (now - since) * 1000 < GONE_AFTER_MS:
            return False
        del self._missing[marker, partition]
        return True

    def answered(self, node: NodeId, results: Iterable[MarkerResult], now: float) -> None:
        sent = self._under_way.pop(node, {})
        errors = {(marker, partition): error for marker, partition, error in results}
        for marker, partitions in sent.items():
            for partition in partitions:
                # One that the answer does not mention may or may not have been written.
                error = errors.get((marker, partition), ErrorCode.UNKNOWN_SERVER_ERROR)
                if error is ErrorCode.NONE:
                    self._finish(marker, partition)
                else:
                    pause_ms = RETRY_WHEN_FENCED_MS if error in _FENCED else RETRY_MS
                    self._retry(marker, partition, now + pause_ms / 1000)
        # Who leads the others may have changed while they waited for this answer.
        for marker, partitions in self._for_node.pop(node, {}).items():
            self._to_place += [(marker, partition) for partition in partitions]

    def failed(self, node: NodeId, now: float) -> None:
        """No answer came."""
        self.answered(node, (), now)

    def take_done(self) -> list[tuple[int, Marker]]:
        """(shard, marker) of transactions whose every partition has its marker, or is gone."""
        done, self._done = self._done, []
        return [(self._shard_of.pop(marker), marker) for marker in done]

    @property
    def next_deadline(self) -> float | None:
        """When `take` has something that waited for its next try."""
        return self._later[0][0] if self._later else None

    def _retry(self, marker: Marker, partition: TopicPartition, at: float) -> None:
        if marker in self._left:
            heappush(self._later, (at, next(self._order), marker, partition))

    def _finish(self, marker: Marker, partition: TopicPartition) -> None:
        left = self._left.get(marker)
        if left is not None:
            left.pop(partition, None)
            self._missing.pop((marker, partition), None)
            self._check_done(marker)

    def _check_done(self, marker: Marker) -> None:
        if not self._left[marker]:
            del self._left[marker]
            self._done.append(marker)

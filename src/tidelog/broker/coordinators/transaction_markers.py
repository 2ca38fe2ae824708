"""Has markers of decided transactions written by the leaders of their partitions, for as long as it takes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NodeId, ProducerId
from tidelog.base.ports import Clock
from tidelog.broker.peers.silent import SilentPeers
from tidelog.transactions.marker import Marker, MarkersToWrite
from tidelog.transactions.marker_queue import LeaderOf, MarkerQueue, MarkerResult, MarkersOfRequest
from tidelog.transactions.transaction import TopicPartition
from tidelog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

SendMarkers = Callable[[NodeId, WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]
"""To the broker with this id, which may be this one; OSError where no answer came."""

log = logging.getLogger("tidelog.broker.transactions")


class TransactionMarkers:
    def __init__(
        self, send: SendMarkers, leader_of: LeaderOf, clock: Clock, on_written: Callable[[int, Marker], None]
    ) -> None:
        """`on_written(shard, marker)`: every partition of the transaction has its marker, or is gone."""
        self._send = send
        self._leader_of = leader_of
        self._clock = clock
        self._on_written = on_written
        self._queue = MarkerQueue()
        self._silent = SilentPeers(
            log,
            "broker %d does not say whether it wrote the markers of ended transactions: %s; asking until it "
            "does, and readers of committed records wait there",
            "broker %d writes markers again",
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._is_woken = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def write(self, shard: int, markers: list[MarkersToWrite]) -> None:
        for one in markers:
            self._queue.add(shard, one)
        self._wake()

    def drop_shard(self, shard: int) -> None:
        """It is another broker's to see to."""
        self._queue.drop_shard(shard)

    async def close(self) -> None:
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _wake(self) -> None:
        """Once in a turn of the loop: what comes up together shares a request."""
        if not self._is_woken and not self._closed:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._is_woken = False
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        for node, markers in self._queue.take(self._leader_of, self._clock.monotonic()).items():
            task = loop.create_task(self._ask(node, markers), name=f"markers to broker {node}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for shard, marker in self._queue.take_done():
            self._on_written(shard, marker)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self._queue.next_deadline
        if deadline is not None:
            delay = max(0.0, deadline - self._clock.monotonic())
            self._alarm = loop.call_later(delay, self._pump)

    async def _ask(self, node: NodeId, markers: MarkersOfRequest) -> None:
        try:
            answer = await self._send(node, _request(markers))
        except OSError as error:
            self._silent.failed(node, error)
            self._queue.failed(node, self._clock.monotonic())
        else:
            self._silent.answered(node)
            self._queue.answered(node, _results(markers, answer), self._clock.monotonic())
        self._wake()


def _request(markers: MarkersOfRequest) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.writer.epoch,
                transaction_result=marker.commit,
                topics=_topics(partitions),
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.version,
            )
            for marker, partitions in markers.items()
        ]
    )


def _topics(partitions: list[TopicPartition]) -> list[WritableTxnMarkerTopic]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()]


def _results(markers: MarkersOfRequest, answer: WriteTxnMarkersResponse) -> Iterator[MarkerResult]:
    """A producer has one transaction at a time, so its id says which marker is meant."""
    by_producer: dict[ProducerId, Marker] = {marker.producer_id: marker for marker in markers}
    for result in answer.markers:
        marker = by_producer.get(result.producer_id)
        if marker is None:
            continue
        for topic in result.topics:
            for partition in topic.partitions:
                where = TopicPartition(topic.name, partition.partition_index)
                yield MarkerResult(marker, where, ErrorCode.of(partition.error_code))

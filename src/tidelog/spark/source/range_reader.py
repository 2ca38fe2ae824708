"""Reads ranges of offsets over the network and gives them as Arrow columns, in the order of each partition.

The next request is under way while the last answer is decoded. What fails in passing (a broker dies, a leader
moves) is tried again from where it stopped; records that are gone are reported as `failOnDataLoss` says.
"""

import struct
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Buffer
from tidelog.blocking.cluster import NO_ID, Cluster, TopicPartition
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import Disconnected, GaveUp, NoSuchTopic
from tidelog.blocking.log_bounds import GONE_AFTER_S, LogBounds
from tidelog.spark.records.batch_decoding import Decoded, decode
from tidelog.spark.records.engines import AUTO
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.planning import OffsetRange
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

PARTITIONS_MAX = 200
"""In one request; the broker answers with the first that have data until the answer is full."""
BY_NAME_MAX = 12
"""The last version of Fetch that names topics; later ones tell them by id."""
RECORD_BYTES_GUESS = 1024
SMALLEST_FETCH = 64 * 1024

_BATCH_START = struct.Struct(">qi")
_LAST_DELTA = struct.Struct(">i")
_GONE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)


@dataclass(frozen=True)
class FetchLimits:
    read_committed: bool = False
    bytes_max: int = 8 << 20
    partition_bytes_max: int = 4 << 20
    wait_ms: int = 500
    poll_timeout_s: float = 120.0


@dataclass
class _Cursor:
    range: OffsetRange
    position: int
    """What to ask for next; runs ahead of `given`."""
    given: int
    """Up to here the rows were handed on: where to go on after a failure."""
    waits_since: float
    missing_since: float | None = None

    @property
    def is_done(self) -> bool:
        return self.position >= self.range.end


class RangeReader:
    def __init__(
        self,
        cluster: Cluster,
        ranges: Sequence[OffsetRange],
        limits: FetchLimits,
        loss: LossReport,
        columns: Collection[str],
        *,
        engine: str = AUTO,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._limits, self._loss, self._columns = cluster, limits, loss, columns
        self._engine, self._now = engine, now
        self._bounds = LogBounds(cluster, read_committed=limits.read_committed, now=now)
        self._cursors = [_Cursor(each, each.start, each.start, now()) for each in ranges if each.size > 0]

    def __iter__(self) -> Iterator[tuple[TopicPartition, Decoded]]:
        attempts = self._cluster.attempts("fetch")
        before = [cursor.given for cursor in self._cursors]
        while self._open():
            try:
                for leader, cursors in self._by_leader().items():
                    yield from self._from_leader(leader, cursors)
            except (Disconnected, KafkaError) as error:
                reached = [cursor.given for cursor in self._cursors]
                if reached != before:  # since the last failure, however long ago that was
                    attempts.begin()
                    before = reached
                for cursor in self._cursors:
                    cursor.position = cursor.given
                attempts.failed(error)

    def _open(self) -> list[_Cursor]:
        """The first range of each partition that is not read to its end."""
        first: dict[TopicPartition, _Cursor] = {}
        for cursor in self._cursors:
            if not cursor.is_done:
                first.setdefault(cursor.range.partition, cursor)
        return list(first.values())

    def _by_leader(self) -> dict[int, list[_Cursor]]:
        found = defaultdict(list)
        for cursor in self._open():
            try:
                found[self._cluster.leader(cursor.range.partition)].append(cursor)
            except KafkaError as error:
                if error.code not in _GONE:
                    raise
                if (still := self._on_unknown(cursor, error)) is not None:
                    raise still from None
        return found

    def _from_leader(self, leader: int, cursors: list[_Cursor]) -> Iterator[tuple[TopicPartition, Decoded]]:
        """Read these to their ends, or until something must be sorted out first."""
        connection = self._cluster.connection(leader)
        cursors = cursors[:PARTITIONS_MAX]
        self._wait_anew(cursors)
        is_asked = False
        try:
            self._ask(connection, cursors)
            is_asked = True
            while is_asked:
                answer: FetchResponse = connection.receive()
                is_asked = False
                if answer.error_code:
                    raise KafkaError(ErrorCode.of(answer.error_code), "fetch")
                taken, failure = self._taken(cursors, answer)
                cursors = [cursor for cursor in cursors if not cursor.is_done]
                if cursors and failure is None:
                    self._ask(connection, cursors)
                    is_asked = True
                for portion in taken:
                    yield from self._decoded(*portion)
                if taken:
                    # Others wait for their turn while one fills the answers, and all wait for who takes rows.
                    self._wait_anew(cursors)
                if failure is not None:
                    raise failure
        finally:
            if is_asked:  # an abandoned answer would be taken for the next one
                connection.close()

    def _wait_anew(self, cursors: Iterable[_Cursor]) -> None:
        for cursor in cursors:
            cursor.waits_since = self._now()

    def _ask(self, connection: Connection, cursors: Sequence[_Cursor]) -> None:
        topics: dict[str, list[FetchPartition]] = defaultdict(list)
        ids = {cursor.range.partition.topic: cursor.range.topic_id for cursor in cursors}
        for cursor in cursors:
            guess = max(SMALLEST_FETCH, (cursor.range.end - cursor.position) * RECORD_BYTES_GUESS)
            topics[cursor.range.partition.topic].append(
                FetchPartition(
                    partition=cursor.range.partition.partition,
                    fetch_offset=cursor.position,
                    partition_max_bytes=min(self._limits.partition_bytes_max, guess),
                )
            )
        request = FetchRequest(
            max_wait_ms=self._limits.wait_ms,
            min_bytes=1,
            max_bytes=self._limits.bytes_max,
            isolation_level=1 if self._limits.read_committed else 0,
            topics=[
                FetchTopic(topic=name, topic_id=ids[name], partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        connection.send(request, at_most=BY_NAME_MAX if NO_ID in ids.values() else None)

    def _taken(
        self, cursors: Sequence[_Cursor], answer: FetchResponse
    ) -> tuple[list[tuple[_Cursor, int, PartitionData]], KafkaError | None]:
        """What came, with the offset to decode from, and the first thing that went wrong in passing."""
        by_name = {cursor.range.partition: cursor for cursor in cursors}
        by_id = {(cursor.range.topic_id, cursor.range.partition.partition): cursor for cursor in cursors}
        taken: list[tuple[_Cursor, int, PartitionData]] = []
        idle: list[tuple[_Cursor, PartitionData]] = []
        failure = None
        for topic in answer.responses:
            for data in topic.partitions:
                cursor = by_name.get(TopicPartition(topic.topic, data.partition_index)) or by_id.get(
                    (topic.topic_id, data.partition_index)
                )
                if cursor is None:
                    continue
                if data.error_code:
                    failure = self._on_error(cursor, ErrorCode.of(data.error_code)) or failure
                    continue
                cursor.missing_since = None
                stop = _next_offset(_bytes_of(data))
                if stop is None or stop <= cursor.position:
                    idle.append((cursor, data))
                    continue
                taken.append((cursor, cursor.position, data))
                cursor.position = stop
        for cursor, data in idle:
            failure = self._on_nothing(cursor, data, is_its_turn=not taken) or failure
        return taken, failure

    def _decoded(
        self, cursor: _Cursor, start: int, data: PartitionData
    ) -> Iterator[tuple[TopicPartition, Decoded]]:
        aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
        for portion in decode(
            _bytes_of(data),
            start,
            cursor.range.end,
            columns=self._columns,
            aborted=aborted,
            engine=self._engine,
        ):
            if portion.rows:
                yield cursor.range.partition, portion
            cursor.given = portion.next_offset

    def _on_error(self, cursor: _Cursor, code: ErrorCode) -> KafkaError | None:
        """The error to try again after, or None where it was dealt with."""
        error = KafkaError(code, f"fetch of {cursor.range}")
        if code in _GONE:
            return self._on_unknown(cursor, error)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            try:
                return self._on_out_of_range(cursor)
            except NoSuchTopic:
                return self._on_unknown(cursor, error)
        if not code.retriable:
            raise error
        return error

    def _on_unknown(self, cursor: _Cursor, error: KafkaError) -> KafkaError | None:
        """No such topic: gone, if it stays so, or replaced by another of its name."""
        wanted, now = cursor.range, self._now()
        topic = self._cluster.topics([wanted.partition.topic]).get(wanted.partition.topic)
        if topic is not None and NO_ID not in (wanted.topic_id, topic.id) and topic.id != wanted.topic_id:
            self._give_up_on(cursor, f"{wanted}: the topic was deleted and created again")
            return None
        if topic is not None and wanted.partition.partition in topic.leaders:
            cursor.missing_since = None
            return error
        cursor.missing_since = cursor.missing_since or now
        if now - cursor.missing_since < GONE_AFTER_S:
            return error
        self._give_up_on(cursor, f"{wanted}: the partition does not exist any more")
        return None

    def _on_out_of_range(self, cursor: _Cursor) -> KafkaError | None:
        wanted, partition = cursor.range, cursor.range.partition
        earliest = self._bounds.earliest([partition])[partition]
        if cursor.position < earliest:
            lost = min(earliest, wanted.end)
            self._loss.report(f"{partition}: offsets {cursor.position} to {lost - 1} are not there any more")
            cursor.position = cursor.given = lost
            return None
        return self._if_still_there(cursor)

    def _if_still_there(self, cursor: _Cursor) -> KafkaError | None:
        """Asks the leader where the log ends. If it has the range, the answer came from another broker."""
        wanted = cursor.range
        try:
            latest = self._bounds.latest([wanted.partition])[wanted.partition]
        except NoSuchTopic as error:
            return self._on_unknown(
                cursor, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"fetch of {wanted}: {error}")
            )
        if latest < wanted.end:
            self._give_up_on(cursor, f"{wanted}: the log was cut, it ends at {latest}")
            return None
        return KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, f"fetch of {wanted}")

    def _on_nothing(self, cursor: _Cursor, data: PartitionData, *, is_its_turn: bool) -> KafkaError | None:
        """The broker had nothing although the range was there when it was planned."""
        wanted = cursor.range
        readable = data.last_stable_offset if self._limits.read_committed else data.high_watermark
        if readable < wanted.end:
            return self._if_still_there(cursor)
        if is_its_turn and self._now() - cursor.waits_since > self._limits.poll_timeout_s:
            raise GaveUp(
                f"{wanted.partition}: no record from offset {cursor.position} on within "
                f"{self._limits.poll_timeout_s:g} s; the option kafkaConsumer.pollTimeoutMs sets how long"
            )
        return None

    def _give_up_on(self, cursor: _Cursor, what: str) -> None:
        self._loss.report(what)
        cursor.position = cursor.given = cursor.range.end


def _bytes_of(data: PartitionData) -> Buffer:
    return data.records if isinstance(data.records, bytes | bytearray | memoryview) else b""


def _next_offset(records: Buffer) -> int | None:
    """The offset after the last whole batch: enough to ask on before anything is decoded."""
    position, size, found = 0, len(records), None
    while position + 61 <= size:
        base, length = _BATCH_START.unpack_from(records, position)
        if length < 49 or position + 12 + length > size:
            break
        (last,) = _LAST_DELTA.unpack_from(records, position + 23)
        found = base + last + 1
        position += 12 + length
    return found

"""From Arrow rows to record batches on their way: rows are gathered, parted by topic and partition, encoded.

Spark hands over some thousand rows at a time. Parted at once they would be many small batches, so rows are
gathered until a few megabytes are there.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.producer import Outgoing, Producer
from tidelog.spark.records.batch_encoding import BatchIdentity, Columns, encode
from tidelog.spark.sink.partitioning import by_column, by_key
from tidelog.spark.sink.schema import Shape
from tidelog.wire.compression import Codec

GATHER_BYTES = 4 * 1024 * 1024
FEW = 1 << 16


class BadRow(TidelogError):
    """A row that cannot be written."""


@dataclass(frozen=True)
class Packing:
    codec: Codec = Codec.NONE
    batch_bytes: int = 512 * 1024
    """Before compression. A larger row goes alone."""


class Outbox:
    def __init__(self, cluster: Cluster, producer: Producer, shape: Shape, packing: Packing) -> None:
        self.rows = 0
        self._cluster, self._producer = cluster, producer
        self._shape, self._packing = shape, packing
        self._gathered: list[pa.RecordBatch] = []
        self._gathered_bytes = 0
        self._sticky: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        self._gathered.append(rows)
        self._gathered_bytes += rows.nbytes
        if self._gathered_bytes >= GATHER_BYTES:
            self._ship()

    def finish(self) -> None:
        """Returns when every row is written."""
        self._ship()
        self._producer.flush()

    def _ship(self) -> None:
        if not self._gathered:
            return
        rows = pa.Table.from_batches(self._gathered).combine_chunks()
        self._gathered, self._gathered_bytes = [], 0
        if not rows.num_rows:
            return
        self.rows += rows.num_rows
        queues = [
            self._batches(topic, theirs, index)
            for topic, of_topic in self._by_topic(rows)
            for index, theirs in self._by_partition(topic, of_topic)
        ]
        # A request holds one batch of a partition at most, so that their order is never in doubt.
        while queues:
            firsts = [(queue, next(queue, None)) for queue in queues]
            going = [batch for _, batch in firsts if batch is not None]
            if going:
                self._producer.send(going)
            queues = [queue for queue, batch in firsts if batch is not None]

    def _by_topic(self, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        if self._shape.topic is not None:
            yield self._shape.topic, rows
            return
        topics = rows["topic"]
        if topics.null_count:
            raise BadRow("a row has null for its topic; set the option topic, or fill the column")
        names = pc.unique(topics).to_pylist()
        for name in names:
            yield name, rows if len(names) == 1 else rows.filter(pc.equal(topics, name))

    def _by_partition(self, topic: str, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        count = self._partitions(topic)
        sticky = self._sticky.get(topic, random.randrange(count)) % count
        self._sticky[topic] = sticky + 1
        keys = _binary(rows, "key") if self._shape.has_key else pa.nulls(rows.num_rows, pa.binary())
        chosen = by_key(keys, count, sticky)
        if self._shape.has_partition:
            chosen = by_column(_column(rows, "partition"), chosen, topic, count)
        sizes = np.bincount(chosen, minlength=count)
        used = np.flatnonzero(sizes)
        if len(used) == 1:
            yield int(used[0]), rows
            return
        # Of small numbers a stable sort is a radix sort, which takes a tenth of the time.
        order = np.argsort(chosen.astype(np.uint16) if count <= FEW else chosen, kind="stable")
        sorted_rows = rows.take(pa.array(order))
        ends = np.cumsum(sizes)
        for index in used.tolist():
            yield index, sorted_rows.slice(int(ends[index] - sizes[index]), int(sizes[index]))

    def _partitions(self, topic: str) -> int:
        try:
            return len(self._cluster.topic(topic).leaders)
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise BadRow(f"there is no topic {topic}; `tidelog topic create {topic}` makes one") from None

    def _batches(self, topic: str, rows: pa.Table, index: int) -> Iterator[Outgoing]:
        partition, producer = TopicPartition(topic, index), self._producer
        columns = Columns(
            _binary(rows, "key") if self._shape.has_key else None,
            _binary(rows, "value"),
            _column(rows, "headers") if self._shape.has_headers else None,
        )
        identity = BatchIdentity(
            *producer.identity,
            sequence=producer.reserve(partition, rows.num_rows),
            is_transactional=producer.transactional_id is not None,
        )
        packing = self._packing
        for encoded in encode(
            columns,
            int(1000 * time.time()),
            identity=identity,
            codec=packing.codec,
            batch_bytes_max=packing.batch_bytes,
        ):
            yield Outgoing(partition, encoded.batch)


def _column(rows: pa.Table, name: str) -> pa.Array:
    column = rows[name]
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _binary(rows: pa.Table, name: str) -> pa.Array:
    column = _column(rows, name)
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column
    return column.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())

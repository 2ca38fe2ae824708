"""What a partition knows of its idempotent and transactional producers.

The last five batches of each are remembered, so that a retry is answered with the offsets it got the first
time, and a gap is refused. Everything here can be rebuilt from a snapshot and the batches after it.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_OFFSET, NO_PRODUCER, NO_TIMESTAMP, Offset, ProducerId, TimestampMs
from tidelog.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader
from tidelog.wire.record import Control, ControlType

BATCHES_KEPT = 5
"""Clients keep at most five requests under way, so an older batch cannot be a retry."""

EPOCH_BUMPS = 2
"""The transaction version (KIP-890) from which on a marker carries a new epoch."""
EPOCH_MAX = 2**15 - 1

_SEQUENCES = 2**31
_SEQUENCE_MASK = _SEQUENCES - 1


class Duplicate(NamedTuple):
    base: Offset
    last: Offset
    timestamp: TimestampMs
    is_over: bool = False
    """Its transaction has ended since."""


class WrittenBatch(msgspec.Struct, frozen=True, gc=False):
    last_sequence: int
    last_offset: Offset
    offset_delta: int
    timestamp: TimestampMs

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % _SEQUENCES

    @property
    def base_offset(self) -> Offset:
        return self.last_offset - self.offset_delta


class EndedTransaction(NamedTuple):
    producer_id: ProducerId
    first: Offset
    last: Offset
    """Offset of the marker."""
    aborted: bool
    stable: Offset
    """Below it every transaction is decided now."""


class Producer:
    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "txn_first")

    def __init__(
        self,
        epoch: int,
        coordinator_epoch: int = -1,
        last_timestamp: TimestampMs = NO_TIMESTAMP,
        txn_first: Offset = NO_OFFSET,
    ) -> None:
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.txn_first = txn_first
        """First offset of the open transaction; -1 without one."""
        self.batches: list[WrittenBatch] = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class Producers:
    __slots__ = ("_known", "_open", "_open_in_order", "end", "ended")

    def __init__(self, end: Offset = 0) -> None:
        self._known: dict[ProducerId, Producer] = {}
        # Open transactions by their first offset. They come in order, save from a snapshot.
        self._open: dict[Offset, ProducerId] = {}
        self._open_in_order = True
        self.ended: deque[EndedTransaction] = deque()
        """By the order of their markers, as long as the marker may not be replicated."""
        self.end = end
        """The batches below are reflected here."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[ProducerId, Producer]]:
        return iter(self._known.items())

    def get(self, producer_id: ProducerId) -> Producer | None:
        return self._known.get(producer_id)

    def put(self, producer_id: ProducerId, producer: Producer) -> None:
        """As a snapshot has it."""
        self._known[producer_id] = producer
        if producer.txn_first >= 0:
            self._open[producer.txn_first] = producer_id
            self._open_in_order = False

    @property
    def first_open(self) -> Offset | None:
        """Where the oldest open transaction begins."""
        if not self._open_in_order:
            self._open = dict(sorted(self._open.items()))
            self._open_in_order = True
        return next(iter(self._open), None)

    def has_open(self, producer_id: ProducerId, epoch: int) -> bool:
        """Whether the producer has an open transaction here, in this epoch."""
        producer = self._known.get(producer_id)
        return producer is not None and producer.txn_first >= 0 and producer.epoch == epoch

    def first_unstable(self, high_watermark: Offset) -> Offset | None:
        """What follows is not stable: undecided, or decided by a marker that may still be lost."""
        firsts = [ended.first for ended in self.ended if ended.last >= high_watermark]
        if (first_open := self.first_open) is not None:
            firsts.append(first_open)
        return min(firsts) if firsts else None

    def forget_ended(self, high_watermark: Offset) -> None:
        """Their markers are replicated: they are stable, whatever happens."""
        ended = self.ended
        while ended and ended[0].last < high_watermark:
            ended.popleft()

    def check(self, header: BatchHeader) -> Duplicate | None:
        """May a leader append this batch? None: yes. A retry is answered, a gap or an old epoch refused.

        A producer that is not known may start anywhere: retention may have removed all it wrote.
        """
        producer = self._known.get(header.producer_id)
        if producer is None:
            return None
        epoch, sequence = header.producer_epoch, header.base_sequence
        if epoch < producer.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} wrote with epoch {epoch}, its last one is {producer.epoch}",
            )
        attributes = header.attributes
        if attributes & CONTROL:
            return None
        if producer.txn_first >= 0 and not attributes & TRANSACTIONAL:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has an open transaction since offset {producer.txn_first} "
                "and sent a batch that does not belong to it",
            )
        if sequence < 0:  # the broker's own coordinators write for producers without sequences
            return None
        if epoch > producer.epoch:
            if sequence != 0:
                raise out_of_order(header, f"a new epoch starts at 0 (the last epoch was {producer.epoch})")
            return None
        last = producer.batches[-1].last_sequence if producer.batches else -1
        if sequence == last + 1 or (sequence == 0 and last == _SEQUENCES - 1):
            return None
        return self._find_duplicate(producer, header)

    def _find_duplicate(self, producer: Producer, header: BatchHeader) -> Duplicate:
        sequence, last_sequence = header.base_sequence, header.last_sequence
        for written in producer.batches:
            if written.last_sequence == last_sequence and written.first_sequence == sequence:
                base = written.base_offset
                is_over = bool(header.attributes & TRANSACTIONAL) and not 0 <= producer.txn_first <= base
                return Duplicate(base, written.last_offset, written.timestamp, is_over)
        raise out_of_order(header, f"{producer.last_sequence} was the last")

    def note(
        self, header: BatchHeader, base: Offset, marker: Control | None = None
    ) -> EndedTransaction | None:
        """A batch of a producer is in the log at `base`: live, on a follower, and again on replay."""
        producer_id = header.producer_id
        if producer_id == NO_PRODUCER:
            return None
        epoch, delta = header.producer_epoch, header.last_offset_delta
        producer = self._known.get(producer_id)
        if producer is None:
            producer = self._known[producer_id] = Producer(epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        producer.last_timestamp = header.max_timestamp
        attributes, last = header.attributes, base + delta
        if attributes & CONTROL:
            if marker is None or not marker.is_marker:  # compaction may have emptied it
                return None
            return self._end_transaction(producer_id, producer, last, marker)
        batches, sequence = producer.batches, header.base_sequence
        if len(batches) == BATCHES_KEPT:
            del batches[0]
        # The header's own `last_sequence`, without the call.
        last_sequence = (sequence + delta) & _SEQUENCE_MASK if sequence >= 0 else -1
        batches.append(WrittenBatch(last_sequence, last, delta, header.max_timestamp))
        if attributes & TRANSACTIONAL and producer.txn_first < 0:
            producer.txn_first = base
            self._open[base] = producer_id
        return None

    def _end_transaction(
        self, producer_id: ProducerId, producer: Producer, offset: Offset, marker: Control
    ) -> EndedTransaction | None:
        producer.coordinator_epoch = marker.coordinator_epoch
        first, producer.txn_first = producer.txn_first, NO_OFFSET
        if first < 0:
            return None
        del self._open[first]
        aborted, first_open = marker.type == ControlType.ABORT, self.first_open
        stable = offset + 1 if first_open is None else first_open
        ended = EndedTransaction(producer_id, first, offset, aborted, stable)
        self.ended.append(ended)
        return ended

    def check_marker(self, header: BatchHeader, marker: Control, version: int = 0) -> None:
        """May this control batch be written? Not if a newer coordinator has written one already.

        From transaction version 2 on a marker brings a new epoch, or has been written before: one with the
        epoch of an open transaction comes from an earlier one, and was delayed.
        """
        producer = self._known.get(header.producer_id)
        if producer is None:
            return
        epoch = header.producer_epoch
        is_old = epoch < producer.epoch
        if version >= EPOCH_BUMPS and epoch == producer.epoch and epoch < EPOCH_MAX:
            is_old = producer.txn_first >= 0
        if is_old:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"marker for producer {header.producer_id} with epoch {epoch}, its last one is "
                f"{producer.epoch}",
            )
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"marker for producer {header.producer_id} of coordinator epoch {marker.coordinator_epoch}, "
                f"the current one is {producer.coordinator_epoch}",
            )

    def expire(self, now_ms: TimestampMs, expiration_ms: int) -> int:
        """Forget producers that were silent for so long; an open transaction keeps its producer."""
        gone = [
            producer_id
            for producer_id, producer in self._known.items()
            if producer.txn_first < 0 and now_ms - producer.last_timestamp >= expiration_ms
        ]
        for producer_id in gone:
            del self._known[producer_id]
        return len(gone)


def out_of_order(header: BatchHeader, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} (epoch {header.producer_epoch}) sent sequence "
        f"{header.base_sequence}: {why}",
    )

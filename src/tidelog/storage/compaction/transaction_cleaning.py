"""What compaction may drop of transactions: the records of aborted ones, and markers that mark nothing more.

A marker goes in steps, since readers may be between the data and it: first the data goes, the next compaction
finds the marker alone and gives it `delete.retention.ms` to live, and one after that drops it.
"""

from collections.abc import Mapping

from tidelog.base.ids import Offset, ProducerId, TimestampMs
from tidelog.base.ports import Buffer
from tidelog.storage.compaction.transaction_outcomes import TransactionOutcomes
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import read_records, write_batch


class TransactionCleaner:
    """Must see every batch of the log up to where it is compacted, in order.

    Aborted records are looked for in the dirty part only: compaction has been through the rest, and the
    markers of that may be gone.
    """

    __slots__ = ("_epochs", "_first_dirty", "_horizon_ms", "_now_ms", "_outcomes", "_with_data")

    def __init__(
        self,
        outcomes: TransactionOutcomes,
        epochs: Mapping[ProducerId, int],
        *,
        first_dirty: Offset,
        now_ms: TimestampMs,
        delete_retention_ms: int,
    ) -> None:
        """`epochs` of producers that are known only by their last marker, which must not vanish."""
        self._outcomes = outcomes
        self._epochs = epochs
        self._first_dirty = first_dirty
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self._with_data: dict[ProducerId, None] = {}

    def is_aborted(self, header: BatchHeader) -> bool:
        """A batch of records: whether all of it goes."""
        if not header.is_transactional:
            return False
        self._with_data[header.producer_id] = None
        return header.last_offset >= self._first_dirty and self._outcomes.is_aborted(header)

    def left_of_marker(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """A control batch: itself, the same with a time to go, or nothing."""
        has_data = header.producer_id in self._with_data
        self._with_data.pop(header.producer_id, None)
        if has_data or not header.record_count or self._is_needed(header):
            return batch
        if header.has_delete_horizon:
            return None if header.base_timestamp <= self._now_ms else batch
        return write_batch(
            read_records(batch),
            base_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
            control=True,
            delete_horizon_ms=self._horizon_ms,
            max_timestamp=header.max_timestamp,
        )

    def _is_needed(self, header: BatchHeader) -> bool:
        """Not a transaction's marker, or all that tells of a producer's epoch."""
        return not header.is_transactional or self._epochs.get(header.producer_id) == header.producer_epoch

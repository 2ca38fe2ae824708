"""What compaction does to one batch: older values of a key go, and tombstones once their time has come.

A tombstone must outlive its first compaction by `delete.retention.ms`, so that a reader that saw the value
also sees that it is gone. When that time ends stands in the batch itself: its delete horizon.
"""

from tidelog.base.ids import NO_TIMESTAMP, TimestampMs
from tidelog.base.ports import Buffer
from tidelog.storage.compaction.key_map import KeyMap
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import write_batch
from tidelog.wire.record_outline import join_outlined, outline_records, record_bytes


class BatchCleaner:
    __slots__ = ("_horizon_ms", "_keys", "_now_ms", "records_kept", "records_read")

    def __init__(self, keys: KeyMap, now_ms: TimestampMs, delete_retention_ms: int) -> None:
        self._keys = keys
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self.records_read = self.records_kept = 0

    def clean(self, batch: memoryview, header: BatchHeader) -> Buffer | None:
        """What is left of it: `batch` itself where nothing changes, None where no record stays.

        Records without a key mean nothing in a compacted log, and go.
        """
        data = record_bytes(batch, header)
        outlines = outline_records(data, header)
        newest, base = self._keys.newest, header.base_offset
        expired = header.has_delete_horizon and header.base_timestamp <= self._now_ms
        kept = []
        tombstones = False
        for outline in outlines:
            _, _, _, _, delta, key, is_tombstone = outline
            if key is None or base + delta < newest(key):
                continue
            if is_tombstone:
                if expired:
                    continue
                tombstones = True
            kept.append(outline)
        self.records_read += len(outlines)
        self.records_kept += len(kept)
        if not kept:
            return None
        horizon = self._horizon_ms if tombstones and not header.has_delete_horizon else None
        if len(kept) == len(outlines) and horizon is None:
            return batch
        return join_outlined(data, header, kept, horizon)


def emptied(header: BatchHeader, *, keep_timestamp: bool) -> bytearray:
    """The batch without records: it still says which offsets and which sequences of its producer it held.

    Without its timestamp, no search by time looks for a record in it.
    """
    keeps_append_time = keep_timestamp and header.is_log_append_time
    return write_batch(
        [],
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        log_append_time=header.max_timestamp if keeps_append_time else None,
        last_offset_delta=header.last_offset_delta,
        max_timestamp=header.max_timestamp if keep_timestamp else NO_TIMESTAMP,
    )

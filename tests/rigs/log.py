"""A partition's log in plain words, for tests: append records, compact at once, read everything back."""

from collections.abc import Iterator, Sequence

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage.compaction.compaction import Compaction
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.wire.batch import BatchHeader, check_batches, crc_ok, iter_batches, read_header
from tidelog.wire.record import ControlType, Record, read_records, write_batch, write_control_batch

NOW_MS: TimestampMs = 1_700_000_000_000
DIRECTORY = "/data/orders-0"

KeyValue = tuple[bytes | None, bytes | None]


def open_log(disk: Disk, config: LogConfig, *, recovery_point: Offset | None = None) -> PartitionLog:
    disk.make_dirs(DIRECTORY)
    disk.sync_dir("/")
    disk.sync_dir("/data")
    return PartitionLog.open(disk, DIRECTORY, config, now_ms=NOW_MS, recovery_point=recovery_point)


def append(
    log: PartitionLog,
    pairs: Sequence[KeyValue],
    *,
    codec: int = 0,
    timestamp: TimestampMs = NOW_MS,
    producer_id: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> Offset:
    """One batch; answers its base offset."""
    records = [Record(n, timestamp + n, key, value, list(headers)) for n, (key, value) in enumerate(pairs)]
    batch = write_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )
    return log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=timestamp).base


def end_transaction(log: PartitionLog, producer_id: int, how: ControlType, epoch: int = 0) -> Offset:
    batch = write_control_batch(
        how, producer_id=producer_id, producer_epoch=epoch, coordinator_epoch=0, timestamp=NOW_MS
    )
    batches = [(0, read_header(batch))]
    return log.append(memoryview(batch), batches, leader_epoch=0, now_ms=NOW_MS).base


def compact(
    log: PartitionLog,
    *,
    now_ms: TimestampMs = NOW_MS,
    key_bytes_max: int = 1 << 20,
    stable_below: Offset | None = None,
) -> Compaction:
    """One whole compaction, whether it is due or not."""
    found = log.compaction.cleanable(log.end if stable_below is None else stable_below, now_ms)
    compaction = log.compaction.begin(found, now_ms, key_bytes_max)
    compaction.map_keys(no_pace)
    for group in compaction.groups():
        cleaned = compaction.clean(group, no_pace)
        if cleaned is not None:
            replaced = log.compaction.finish(cleaned, now_ms)
            if replaced is None:
                raise AssertionError("the log changed during its compaction")
            for segment in replaced:
                segment.run()
    log.compaction.cleaned_to = compaction.end
    return compaction


def no_pace(_: int) -> None:
    """As fast as possible."""


def batches(log: PartitionLog) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Every batch that a reader gets who starts at the beginning, each with a good CRC."""
    offset = log.start
    while (found := log.read(offset, 1 << 20, end=log.end)) is not None:
        data = memoryview(found.slice.read())
        for position, header in iter_batches(data):
            if not crc_ok(data, position, header):
                raise AssertionError(f"wrong CRC at offset {header.base_offset}")
            yield header, data[position : position + header.size]
            offset = header.next_offset


def records(log: PartitionLog) -> list[Record]:
    """Every record, control records aside."""
    return [
        record for header, batch in batches(log) if not header.is_control for record in read_records(batch)
    ]


def values(log: PartitionLog) -> dict[bytes | None, bytes]:
    """What a reader of the whole log ends up with."""
    state: dict[bytes | None, bytes] = {}
    for record in records(log):
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state

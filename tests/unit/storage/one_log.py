"""One log on a disk in memory, and what tests do to it."""

from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import BatchHeader, check_batches, iter_batches
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch

PARTITION_DIR = "/data/topic-0"
NOW = 1_700_000_000_000
FOREVER = LogConfig(retention_ms=-1)


def open_log(disk: MemoryDisk, config: LogConfig = FOREVER, **options: object) -> PartitionLog:
    return PartitionLog.open(disk, PARTITION_DIR, config, now_ms=NOW, **options)  # type: ignore[arg-type]


def append(
    log: PartitionLog,
    count: int = 1,
    *,
    size: int = 10,
    timestamp: int = NOW,
    epoch: int = 0,
    now_ms: int = NOW,
    codec: Codec = Codec.NONE,
    **producer: int,
) -> tuple[int, int]:
    records = [Record(number, timestamp + number, b"key", bytes(size)) for number in range(count)]
    batch = write_batch(records, codec=codec, **producer)  # type: ignore[arg-type]
    appended = log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=now_ms)
    return appended.base, appended.last


def flush(log: PartitionLog) -> None:
    pending = log.begin_flush()
    assert pending is not None
    pending.run()
    log.finish_flush(pending)


def headers(log: PartitionLog, offset: int, max_bytes: int = 1 << 20, **options: int) -> list[BatchHeader]:
    read = log.read(offset, max_bytes, end=options.pop("end", log.end), **options)  # type: ignore[arg-type]
    return [] if read is None else [header for _, header in iter_batches(read.slice.read())]


def bases(log: PartitionLog) -> list[int]:
    found: list[int] = []
    offset = log.start
    while batch := headers(log, offset):
        found += [header.base_offset for header in batch]
        offset = batch[-1].next_offset
    return found


def all_bytes(log: PartitionLog) -> bytes:
    """The whole log, segment by segment."""
    return b"".join(segment.file.read_at(0, segment.size) for segment in log.segments)


def names(disk: MemoryDisk, suffix: str = "") -> list[str]:
    return [name for name in disk.names(PARTITION_DIR) if name.endswith(suffix)]

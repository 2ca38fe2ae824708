"""Files that are not as they were left: flipped bits, cuts, litter. What is valid must be served."""

import pytest

from tidelog.base.errors import KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import check_batches, crc_ok, iter_batches
from tidelog.wire.record import Record, write_batch

PARTITION_DIR = "/data/topic-0"
NOW = 1_700_000_000_000
CONFIG = LogConfig(index_interval_bytes=200, retention_ms=-1)
LOG = f"{PARTITION_DIR}/{0:020d}.log"
INDEX = f"{PARTITION_DIR}/{0:020d}.index"
TIME_INDEX = f"{PARTITION_DIR}/{0:020d}.timeindex"


def open_log(disk: MemoryDisk, config: LogConfig = CONFIG, **options: object) -> PartitionLog:
    return PartitionLog.open(disk, PARTITION_DIR, config, now_ms=NOW, **options)  # type: ignore[arg-type]


def written(batches: int = 10, config: LogConfig = CONFIG, *, clean: bool = True) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs("/data")
    disk.sync_dir("/")
    log = open_log(disk, config)
    for number in range(batches):
        records = [Record(n, NOW + 10 * number + n, b"key", bytes([65 + number]) * 40) for n in range(2)]
        batch = write_batch(records, producer_id=7, producer_epoch=0, base_sequence=2 * number)
        log.append(memoryview(batch), check_batches(batch), leader_epoch=number // 4, now_ms=NOW)
    log.close(clean)
    return disk


def bases(log: PartitionLog) -> list[int]:
    found: list[int] = []
    offset = log.start
    while (read := log.read(offset, 1 << 20, end=log.end)) is not None:
        data = read.slice.read()
        for position, header in iter_batches(data):
            assert crc_ok(data, position, header)
            found.append(header.base_offset)
            offset = header.next_offset
    return found


def read_all(disk: MemoryDisk, path: str) -> bytes:
    return disk.open(path).read_at(0, 1 << 30)


BATCH_BYTES = len(read_all(written(1), LOG))
EVERYTHING = list(range(0, 20, 2))


def test_a_torn_tail_is_truncated_at_any_byte_and_reported_with_file_and_position() -> None:
    whole = written(clean=False)
    for length in range(8 * BATCH_BYTES + 1, 10 * BATCH_BYTES):
        disk = MemoryDisk()
        disk.make_dirs(PARTITION_DIR)
        disk.open(LOG, create=True).write_at(0, [read_all(whole, LOG)[:length]])
        log = open_log(disk)
        valid = length // BATCH_BYTES
        assert bases(log) == EVERYTHING[:valid]
        assert disk.size(LOG) == valid * BATCH_BYTES
        if length % BATCH_BYTES > 8:  # the first bytes of an offset are zeros, and zeros are no news
            (cut,) = log.recovery.torn_writes
            assert (cut.file, cut.position, cut.length) == (LOG, valid * BATCH_BYTES, length % BATCH_BYTES)
            assert f"{LOG} at {valid * BATCH_BYTES}" in log.recovery.lines()[0]


def test_zeros_at_the_end_are_truncated_without_a_report() -> None:
    disk = written(clean=False)
    disk.open(LOG).truncate(disk.size(LOG) + 5_000)
    log = open_log(disk)
    assert bases(log) == EVERYTHING
    assert log.recovery.is_clean


@pytest.mark.parametrize("batch", [0, 4, 8])
def test_a_flipped_bit_anywhere_in_a_batch_sets_that_batch_aside_and_no_other(batch: int) -> None:
    for place in range(BATCH_BYTES):
        if 12 <= place < 16:  # the leader epoch is outside of the CRC
            continue
        disk = written(clean=False)
        original = read_all(disk, LOG)
        position = batch * BATCH_BYTES
        disk.flip_bit(LOG, position + place, place % 8)
        damaged = read_all(disk, LOG)[position : position + BATCH_BYTES]
        log = open_log(disk)
        if place < 8 and bases(log) == EVERYTHING[:batch] + EVERYTHING[batch + 1 :]:
            pass  # an offset that is too small or too large to be one of this place
        elif place < 8:
            # A base offset is outside of the CRC too: one that moves a little up looks valid, and hides
            # the batches whose offsets it takes.
            assert bases(log)[:batch] == EVERYTHING[:batch]
            continue
        assert bases(log) == EVERYTHING[:batch] + EVERYTHING[batch + 1 :]
        (found,) = log.recovery.damages
        assert (found.file, found.position, found.length) == (LOG, position, BATCH_BYTES)
        assert found.kept_in == f"{LOG}.damaged-{position}"
        assert read_all(disk, found.kept_in) == damaged
        assert read_all(disk, LOG) == original[:position] + original[position + BATCH_BYTES :]
        assert found.kept_in in log.recovery.lines()[0]


def test_damage_over_several_batches_and_in_several_places() -> None:
    disk = written(clean=False)
    file = disk.open(LOG)
    file.write_at(BATCH_BYTES + 20, [b"\x02" * (2 * BATCH_BYTES)])
    file.write_at(6 * BATCH_BYTES, [bytes(BATCH_BYTES)])
    log = open_log(disk)
    assert bases(log) == [0, 8, 10, 14, 16, 18]
    assert [(d.position, d.length) for d in log.recovery.damages] == [
        (BATCH_BYTES, 3 * BATCH_BYTES),
        (6 * BATCH_BYTES, BATCH_BYTES),
    ]
    assert log.find_by_time(NOW + 61) == (14, NOW + 70, 1)


def test_damage_and_a_torn_tail_together() -> None:
    disk = written(clean=False)
    disk.flip_bit(LOG, 2 * BATCH_BYTES + 70)
    disk.open(LOG).truncate(9 * BATCH_BYTES + 30)
    log = open_log(disk)
    assert bases(log) == [0, 2, 6, 8, 10, 12, 14, 16]
    assert len(log.recovery.damages) == len(log.recovery.torn_writes) == 1
    again = open_log(disk).recovery
    assert again.is_clean
    assert again.kept == [f"{LOG}.damaged-{2 * BATCH_BYTES}"]
    assert again.kept[0] in again.lines()[0]


def test_a_crash_at_any_point_of_setting_damage_aside_loses_nothing() -> None:
    cut_at = 0
    while True:
        disk = written(clean=True)
        damaged = bytearray(read_all(disk, LOG))
        damaged[3 * BATCH_BYTES + 70] ^= 1
        file = disk.open(LOG)
        file.write_at(0, [damaged])
        file.sync()
        cut_at += 1
        disk.power_cut_at = disk.operations + cut_at
        try:
            open_log(disk)
        except PowerCut:
            disk.crash()
        else:
            break
        log = open_log(disk)
        assert bases(log) == [0, 2, 4, *range(8, 20, 2)]
        sides = [name for name in disk.names(PARTITION_DIR) if "damaged" in name]
        assert sides == [f"{0:020d}.log.damaged-{3 * BATCH_BYTES}"]
        kept = read_all(disk, f"{PARTITION_DIR}/{sides[0]}")
        assert kept == damaged[3 * BATCH_BYTES : 4 * BATCH_BYTES]
    assert cut_at > 8


def test_new_damage_at_an_old_position_does_not_overwrite_what_was_kept() -> None:
    disk = written(clean=False)
    disk.flip_bit(LOG, 70)
    open_log(disk)
    disk.flip_bit(LOG, 70)
    log = open_log(disk)
    assert bases(log) == EVERYTHING[2:]
    assert [name for name in disk.names(PARTITION_DIR) if "damaged" in name] == [
        f"{0:020d}.log.damaged-0",
        f"{0:020d}.log.damaged-0.1",
    ]


def test_damage_in_an_earlier_segment_keeps_the_later_ones() -> None:
    config = LogConfig(segment_bytes=3 * BATCH_BYTES, retention_ms=-1)
    disk = written(config=config, clean=False)
    path = f"{PARTITION_DIR}/{6:020d}.log"
    disk.flip_bit(path, 2 * BATCH_BYTES + 65)  # the last batch of the second segment
    log = open_log(disk, config)
    assert bases(log) == [0, 2, 4, 6, 8, *range(12, 20, 2)]
    (damage,) = log.recovery.damages
    assert (damage.file, damage.position) == (path, 2 * BATCH_BYTES)


def test_a_snapshot_does_not_outlive_the_batches_it_speaks_of() -> None:
    """Their producer was never answered and retries: that must not be taken for a duplicate."""
    config = LogConfig(segment_bytes=3 * BATCH_BYTES, retention_ms=-1)
    disk = written(3, config, clean=False)
    log = open_log(disk, config, recovery_point=2)
    log.roll(NOW)
    assert f"{6:020d}.snapshot" in disk.names(PARTITION_DIR)
    disk.open(LOG).truncate(BATCH_BYTES)  # the batches at 2 and 4 never reached the disk
    log = open_log(disk, config, recovery_point=2)
    assert bases(log) == [0]
    assert log.end == 6  # the segment that follows is empty, but nobody gets its offsets twice
    assert len(log.recovery.gaps) == 1
    producer = log.producers.get(7)
    assert producer is not None
    assert producer.last_sequence == 1


def test_a_lost_end_of_a_segment_before_others_is_reported_as_a_gap() -> None:
    config = LogConfig(segment_bytes=3 * BATCH_BYTES, retention_ms=-1)
    disk = written(7, config, clean=False)
    disk.open(LOG).truncate(BATCH_BYTES)
    log = open_log(disk, config)
    assert bases(log) == [0, 6, 8, 10, 12]
    (gap,) = log.recovery.gaps
    assert (gap.file, gap.position, gap.first_missing, gap.next_found) == (LOG, BATCH_BYTES, 2, 6)
    assert "offsets 2 to 5" in log.recovery.lines()[0]


def test_damage_below_the_recovery_point_is_not_looked_for() -> None:
    disk = written(clean=False)
    disk.flip_bit(LOG, 70)
    log = open_log(disk, recovery_point=20)
    assert log.recovery.is_clean
    assert log.end == 20


def test_damaged_tail_after_a_clean_shutdown_is_found_all_the_same() -> None:
    disk = written(clean=True)
    disk.flip_bit(LOG, 9 * BATCH_BYTES + 70)
    log = open_log(disk, clean=True)
    assert bases(log) == EVERYTHING  # the last one has no records: it stands for the offsets
    assert log.end == 20
    assert not log.recovery.torn_writes
    assert len(log.recovery.damages) == 1


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "after a crash"])
@pytest.mark.parametrize("path", [INDEX, TIME_INDEX])
def test_a_flipped_bit_in_an_index_misleads_nobody(path: str, clean: bool) -> None:
    size = written().size(path)
    assert size >= 24
    for place in range(size):
        disk = written()
        disk.flip_bit(path, place, (place * 3) % 8)
        log = open_log(disk, clean=clean, recovery_point=20)
        assert bases(log) == EVERYTHING, place
        for offset in range(20):
            read = log.read(offset, 1, end=20)
            assert read is not None
            assert read.first_batch_offset == offset // 2 * 2
        if path == INDEX or not clean:
            assert log.find_by_time(NOW + 51) == (11, NOW + 51, 1)


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "active"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "after a crash"])
@pytest.mark.parametrize("path", [INDEX, TIME_INDEX])
def test_indexes_that_are_truncated_or_gone_are_built_anew(path: str, clean: bool, sealed: bool) -> None:
    config = LogConfig(index_interval_bytes=200, segment_bytes=6 * BATCH_BYTES if sealed else 1 << 20)
    whole = read_all(written(config=config), path)
    for length in (None, 0, 1, len(whole) - 1):
        disk = written(config=config)
        if length is None:
            disk.remove(path)
        else:
            disk.open(path).truncate(length)
        log = open_log(disk, config, clean=clean, recovery_point=20)
        assert bases(log) == EVERYTHING
        assert log.find_by_time(NOW + 51) == (11, NOW + 51, 1)
        assert log.max_timestamp() == (19, NOW + 91, 2)
        log.close()
        if length != 0:  # an empty index is sparse, not wrong
            assert read_all(disk, path) == whole


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_bad_snapshot_is_replaced_by_the_log(damage: str) -> None:
    disk = written()
    path = f"{PARTITION_DIR}/{20:020d}.snapshot"
    if damage == "flip":
        disk.flip_bit(path, 30)
    elif damage == "cut":
        disk.open(path).truncate(20)
    else:
        disk.remove(path)
    producer = open_log(disk, clean=True).producers.get(7)
    assert producer is not None
    assert producer.last_sequence == 19
    assert len(producer.batches) == 5


@pytest.mark.parametrize("content", [None, b"", b"0\n1\n9", b"0\n1\n0 0\n"])
def test_epochs_are_learned_from_the_log_where_their_file_is_bad(content: bytes | None) -> None:
    disk = written()
    path = f"{PARTITION_DIR}/leader-epoch-checkpoint"
    disk.remove(path)
    if content is not None:
        disk.open(path, create=True).write_at(0, [content])
    log = open_log(disk, clean=False, recovery_point=8 if content == b"0\n1\n0 0\n" else 20)
    assert log.leader_epochs.entries == [(0, 0), (1, 8), (2, 16)]


def test_epochs_beyond_the_end_are_dropped() -> None:
    disk = written()
    file = disk.open(f"{PARTITION_DIR}/leader-epoch-checkpoint")
    file.truncate(0)
    file.write_at(0, [b"0\n4\n0 0\n1 8\n2 16\n3 20\n"])
    assert open_log(disk, clean=True).leader_epochs.entries == [(0, 0), (1, 8), (2, 16)]


def test_litter_is_removed() -> None:
    disk = written()
    litter = [f"{0:020d}.log.deleted", f"{40:020d}.index", f"{40:020d}.timeindex", f"{0:020d}.log.recovering"]
    for name in [*litter, "leader-epoch-checkpoint.tmp"]:
        disk.open(f"{PARTITION_DIR}/{name}", create=True)
    disk.open(f"{PARTITION_DIR}/notes.txt", create=True)
    log = open_log(disk, clean=True)
    assert set(log.recovery.removed) == {*litter, "leader-epoch-checkpoint.tmp"}
    assert "notes.txt" in disk.names(PARTITION_DIR)
    assert not set(litter) & set(disk.names(PARTITION_DIR))


def test_a_header_that_was_trusted_and_is_needed_again_leads_to_a_full_check() -> None:
    disk = written()
    disk.remove(f"{PARTITION_DIR}/{20:020d}.snapshot")
    disk.flip_bit(LOG, 3 * BATCH_BYTES + 8, 7)  # a negative length stops the walk that rebuilds producers
    log = open_log(disk, clean=True)
    assert bases(log) == [0, 2, 4, *range(8, 20, 2)]
    assert len(log.recovery.damages) == 1


def test_a_damaged_header_met_by_a_reader_is_named_and_what_lies_around_it_is_served() -> None:
    disk = written(20)
    disk.flip_bit(LOG, 9 * BATCH_BYTES + 8, 7)
    log = open_log(disk, clean=True)
    with pytest.raises(KafkaError, match=f"{LOG} at {9 * BATCH_BYTES}"):
        log.read(18, 1, end=log.end)
    for offset in (0, 16, 24, 39):
        read = log.read(offset, 1, end=log.end)
        assert read is not None
        assert read.first_batch_offset == offset // 2 * 2


def test_every_region_of_every_file_flipped_and_reopened_raises_nothing() -> None:
    for name in written().names(PARTITION_DIR):
        path = f"{PARTITION_DIR}/{name}"
        for place in range(0, written().size(path), 7):
            for clean in (True, False):
                disk = written()
                disk.flip_bit(path, place, place % 8)
                log = open_log(disk, clean=clean, recovery_point=10)
                assert log.end <= 2**31
                log.close()

import os
from pathlib import Path

from tidelog.base.disk import PosixDisk
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.warm import WarmSegments
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch


class Cooling:
    def __init__(self) -> None:
        self.cooled = 0

    def cool(self) -> None:
        self.cooled += 1


def test_the_oldest_gives_way_when_there_are_too_many() -> None:
    warm = WarmSegments(files_max=2)
    first, second, third = Cooling(), Cooling(), Cooling()
    for segment in (first, second, third):
        warm.opened(segment)
    assert [segment.cooled for segment in (first, second, third)] == [1, 0, 0]
    assert len(warm) == 2


def test_the_oldest_gives_way_when_indexes_take_too_much() -> None:
    warm = WarmSegments(files_max=10, index_bytes_max=100)
    first, second = Cooling(), Cooling()
    warm.opened(first, 60)
    warm.opened(second, 60)
    assert (first.cooled, second.cooled) == (1, 0)
    warm.opened(second, 600)
    assert second.cooled == 0


def test_all_of_them_give_way_when_memory_is_short() -> None:
    warm = WarmSegments()
    first, second = Cooling(), Cooling()
    warm.opened(first, 60)
    warm.opened(second, 60)
    warm.cool_all()
    assert (first.cooled, second.cooled, len(warm)) == (1, 1, 0)


def test_what_is_forgotten_makes_room() -> None:
    warm = WarmSegments(files_max=1)
    first, second = Cooling(), Cooling()
    warm.opened(first)
    warm.forget(first)
    warm.opened(second)
    assert (first.cooled, second.cooled) == (0, 0)
    warm.forget(first)


def test_many_segments_hold_few_descriptors_and_a_slice_keeps_its_file(tmp_path: Path) -> None:
    warm = WarmSegments(files_max=3)
    config = LogConfig(segment_bytes=200, retention_ms=-1)
    log = PartitionLog.open(PosixDisk(), f"{tmp_path}/t-0", config, now_ms=0, warm=warm)
    for _ in range(40):
        batch = write_batch([Record(0, 0, b"k", bytes(100))])
        log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=0)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    assert len(warm) == 3, "an empty one is one all the same"
    first = log.read(0, 1, end=log.end)
    assert first is not None
    for offset in range(40):
        read = log.read(offset, 1, end=log.end)
        assert read is not None
        assert read.first_batch_offset == offset
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) <= before + 4
    for deletion in log.truncate_fully_at(0):
        deletion.run()
    assert len(first.slice.read()) == first.slice.length


def test_what_was_just_opened_never_gives_way_to_itself() -> None:
    warm = WarmSegments(files_max=10, index_bytes_max=100)
    first, second = Cooling(), Cooling()
    warm.opened(first)  # its file, long ago
    warm.opened(second, 60)
    warm.opened(first, 60)  # now its index
    assert (first.cooled, second.cooled) == (0, 1)


def test_an_old_segment_is_read_when_indexes_take_too_much(tmp_path: Path) -> None:
    warm = WarmSegments(index_bytes_max=20)
    config = LogConfig(segment_bytes=600, index_interval_bytes=1, retention_ms=-1)
    log = PartitionLog.open(PosixDisk(), f"{tmp_path}/t-0", config, now_ms=0, warm=warm)
    for _ in range(12):
        batch = write_batch([Record(0, 0, b"k", bytes(100))])
        log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=0)
    for offset in (4, 0, 5, 1, 8, 2):
        assert log.read(offset, 1, end=log.end) is not None

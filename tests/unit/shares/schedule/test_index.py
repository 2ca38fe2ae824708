"""What the index keeps where: memory up to its limit, then a file that nothing else ever meets."""

import errno
import logging

import pytest

from tests.rigs.encryption import encrypted
from tidelog.base.ports import Disk
from tidelog.shares.schedule.due_times import Due
from tidelog.shares.schedule.index import FILE_RETRY_MS, HEAP_ENTRY_BYTES, DueIndex
from tidelog.shares.schedule.memory import ScheduleMemory
from tidelog.shares.schedule.offset_ranges import RANGES_MAX, OffsetRanges
from tidelog.shares.schedule.run_file import NAME
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

DIRECTORY = "/data/jobs-0"
NOW = 1_800_000_000_000


def make(memory_bytes: int = 320, disk: Disk | None = None, heap_max: int = 8) -> DueIndex:
    disk = disk or MemoryDisk()
    disk.make_dirs(DIRECTORY)
    return DueIndex(
        disk, lambda: DIRECTORY, ScheduleMemory(memory_bytes), heap_max=heap_max, garbage_bytes_min=512
    )


def fill(index: DueIndex, count: int, first: int = 0) -> None:
    """Records that are due one by one, a millisecond after the other."""
    for offset in range(first, first + count):
        index.add(offset, offset, [Due(NOW + 1 + offset, offset, offset)], NOW)


def popped(index: DueIndex, now_ms: int) -> list[int]:
    offsets: list[int] = []
    while (next_ms := index.next_ms) is not None and next_ms <= now_ms:
        result = index.pop(now_ms, 5)
        assert not result.is_all
        offsets += (due.first for due in result.ranges)
    return sorted(offsets)


def test_times_beyond_the_memory_are_in_a_file_without_a_name() -> None:
    disk = MemoryDisk()
    index = make(disk=disk)
    fill(index, 200)
    assert len(index) == 200
    assert index.memory_bytes <= 320
    assert index.file_bytes >= 2000
    assert disk.names(DIRECTORY) == []
    assert index.next_ms == NOW + 1
    assert popped(index, NOW + 120) == list(range(120))
    assert popped(index, NOW + 200) == list(range(120, 200))
    assert index.file_bytes == 0


def test_an_encrypted_log_dir_has_encrypted_times() -> None:
    below = MemoryDisk()
    index = make(disk=encrypted(below))
    fill(index, 200)
    assert index.file_bytes
    assert popped(index, NOW + 200) == list(range(200))


def test_a_file_of_which_little_is_left_is_written_anew() -> None:
    index = make()
    fill(index, 400)
    before = index.file_bytes
    popped(index, NOW + 390)
    fill(index, 40, first=400)
    assert index.file_bytes < before / 4
    assert popped(index, NOW + 440) == list(range(390, 440))


def test_a_batch_that_two_groups_read_is_in_the_index_once() -> None:
    index = make(100_000)
    later = [Due(NOW + 9, 10, 12)]
    index.add(10, 19, later, NOW)
    index.add(10, 19, later, NOW + 1)
    assert len(index) == 1
    index.add(0, 9, [Due(NOW + 5, 3, 3)], NOW + 1)  # a group that begins earlier
    index.add(40, 49, [Due(NOW + 5, 44, 44)], NOW + 1)  # and another that is ahead
    assert len(index) == 3


def test_a_clock_that_goes_back_finds_what_was_popped_before_its_time() -> None:
    index = make(100_000)
    index.add(0, 0, [Due(NOW + 50, 0, 0)], NOW)
    assert popped(index, NOW + 60) == [0]
    index.add(0, 0, [Due(NOW + 50, 0, 0)], NOW + 10)
    assert index.next_ms == NOW + 50
    assert popped(index, NOW + 50) == [0]


def test_the_largest_index_makes_room_for_all() -> None:
    disk = MemoryDisk()
    disk.make_dirs(DIRECTORY)
    memory = ScheduleMemory(40 * HEAP_ENTRY_BYTES)
    small, large = (DueIndex(disk, lambda: DIRECTORY, memory, heap_max=100) for _ in range(2))
    fill(small, 10)
    fill(large, 60)
    assert memory.used_bytes <= memory.bytes_max
    assert small.file_bytes == 0
    assert large.file_bytes > 0
    large.close()
    assert memory.used_bytes == small.memory_bytes == 10 * HEAP_ENTRY_BYTES


def test_a_full_disk_keeps_the_earliest_and_asks_to_read_the_rest_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = MemoryDisk()
    disk.fail("write", NAME, error=errno.ENOSPC)
    index = make(disk=disk)
    with caplog.at_level(logging.ERROR):
        fill(index, 200)
    assert [record.message for record in caplog.records] == [
        f"{DIRECTORY}: the times of scheduled records cannot be kept in a file ([Errno 28] No space left on "
        f"device: '{DIRECTORY}/{NAME}'). No record is early; some may be late, since the broker reads "
        "the log again for them. Free some space, or check the disk"
    ]
    assert index.memory_bytes <= 320
    kept = len(index)
    assert kept > 0
    assert popped(index, NOW + kept) == list(range(kept))
    assert index.next_ms is not None
    assert index.pop(index.next_ms - 1, 100) == ((), False)
    assert index.pop(index.next_ms, 100).is_all
    assert index.next_ms is None
    disk.heal()
    fill(index, 200, first=FILE_RETRY_MS)
    assert index.file_bytes == 0  # not tried again so soon
    later = NOW + FILE_RETRY_MS + 500
    index.forget()
    for offset in range(200):
        index.add(offset, offset, [Due(later + 1 + offset, offset, offset)], later)
    assert index.file_bytes > 0


def test_a_file_that_cannot_be_read_has_all_looked_at_again() -> None:
    disk = MemoryDisk()
    index = make(disk=disk)
    fill(index, 200)
    disk.fail("read", NAME)
    assert index.pop(NOW + 200, 1000).is_all
    assert len(index) == 0
    assert index.file_bytes == 0


def test_ranges_of_offsets() -> None:
    ranges = OffsetRanges()
    for first in (10, 30, 20):
        ranges.add(first, first + 9)
    assert len(ranges) == 1
    assert ranges.has(10, 39)
    assert not ranges.has(9, 10)
    assert not ranges.has(39, 40)
    ranges.add(50, 59)
    assert not ranges.has(39, 50)
    ranges.add(35, 54)
    assert ranges.has(10, 59)
    assert len(ranges) == 1
    for number in range(2 * RANGES_MAX):
        ranges.add(100 + 2 * number, 100 + 2 * number)
    assert len(ranges) == RANGES_MAX
    assert not ranges.has(100 + 4 * RANGES_MAX - 2, 100 + 4 * RANGES_MAX - 2)
    ranges.add(60, 100)
    assert ranges.has(10, 100)

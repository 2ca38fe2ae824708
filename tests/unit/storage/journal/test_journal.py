"""Which blocks a journal keeps, and what a start makes of it."""

import errno
from collections.abc import Callable

import pytest

from tests.rigs.encryption import EncryptedMemoryDisk
from tidelog.base.errors import StorageError
from tidelog.storage import failed_sync
from tidelog.storage.journal.block import ALIGNMENT, JournalEntry
from tidelog.storage.journal.files import JOURNAL, read_voids
from tidelog.storage.journal.journal import SEGMENTS_MAX, Journal
from tidelog.storage.journal.replay import read_journal, replay
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

ID = b"0123456789abcdef"
SEGMENT = 4 * ALIGNMENT
TOPIC = b"t" * 16
FILE = "/data/{}/00000000000000000000.log"


class Rig:
    def __init__(
        self,
        has_room: Callable[[int], bool] = lambda _: True,
        disk: MemoryDisk | None = None,
        segment: int = SEGMENT,
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.disk.make_dirs("/data/a-0")
        self.disk.make_dirs("/data/b-0")
        for name in ("a-0", "b-0"):
            self.disk.open(FILE.format(name), create=True)
            self.disk.sync_dir(f"/data/{name}")
        self.disk.sync_dir("/data")
        self.disk.sync_dir("/")
        self.begun: list[bytes] = []
        self.journal = Journal(
            self.disk,
            "/data",
            SEGMENTS_MAX * segment,
            new_id=lambda: ID,
            on_begin=self.begun.append,
            has_room=has_room,
        )

    def write(self, name: str = "a-0", position: int = 0, data: bytes = b"x") -> bool:
        """Whether there was room in the journal; else another file is made."""
        write = self.journal.begin([JournalEntry(name, TOPIC, 0, position, data)])
        if write is None:
            if self.journal.wants_file:
                self.journal.created(self.journal.create()())
            return False
        write.run()
        self.journal.finish(write)
        return True

    def fill(self, segments: int, name: str = "a-0") -> None:
        """Three blocks to a segment: the last sector is kept free."""
        while len(self.journal._segments) < segments:
            self.write(name)

    def needed(self) -> list[int]:
        return [block.sequence for block in read_journal(self.disk, "/data", ID).blocks]


def test_the_first_need_makes_a_file_of_zeros_and_notes_the_id() -> None:
    rig = Rig()
    assert not rig.write()
    assert rig.begun == [ID]
    assert rig.disk.size(f"/data/{JOURNAL}0") == SEGMENT
    assert rig.write()
    assert rig.needed() == [1]


def test_without_room_there_is_no_file_and_no_id() -> None:
    rig = Rig(has_room=lambda size: size < SEGMENT)
    assert not rig.write()
    assert not rig.begun
    assert not rig.journal.wants_file, "not with every sync again"


def test_a_disk_that_fills_up_while_a_file_is_made_leaves_nothing_behind() -> None:
    rig = Rig()
    rig.disk.capacity_bytes = SEGMENT // 2
    assert not rig.write()
    assert not rig.begun
    assert not rig.disk.exists(f"/data/{JOURNAL}0")


def test_a_segment_is_used_again_once_the_files_of_its_logs_are_synced() -> None:
    rig = Rig()
    rig.fill(SEGMENTS_MAX)
    while rig.write():
        pass
    assert not rig.journal.wants_file
    assert rig.journal.wants_file_syncs
    assert rig.journal.logs_to_sync() == ["a-0"]
    rig.journal.files_synced("a-0", rig.journal.next_sequence)
    last = rig.journal.next_sequence
    assert rig.write()
    assert rig.needed() == [last + 1]
    assert rig.journal.next_sequence == last + 2, (
        "the block before made known what is free, and then was, too"
    )


def test_entries_that_came_after_a_sync_began_stay_needed() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write()
    before = rig.journal.next_sequence
    for _ in range(3 * SEGMENTS_MAX):
        rig.write()
    rig.journal.files_synced("a-0", before)
    assert rig.journal.logs_to_sync() == ["a-0"]


@pytest.mark.parametrize("tears", range(1, 20))
def test_a_write_that_is_torn_while_a_segment_is_used_again_leaves_a_whole_journal(tears: int) -> None:
    rig = Rig()
    rig.fill(2)
    for _ in range(2):
        rig.write()
    rig.journal.files_synced("a-0", rig.journal.next_sequence)
    rig.disk.power_cut_at = rig.disk.operations + tears
    try:
        for _ in range(12):
            rig.write("b-0")
    except PowerCut:
        pass
    rig.disk.crash()
    assert not read_journal(rig.disk, "/data", ID).damage


@pytest.mark.parametrize("seed", range(40))
def test_an_encrypted_segment_that_is_used_again_keeps_its_durable_blocks(seed: int) -> None:
    """Its blocks are smaller than the encrypted cells of its first use: none may lie in a cell that a later
    write tears."""
    rig = Rig(disk=EncryptedMemoryDisk(seed), segment=16 * ALIGNMENT)
    while len(rig.journal._segments) < 2:
        rig.write(data=b"x" * 3000)
    while rig.journal._segments[0].first == 1:
        rig.journal.files_synced("a-0", rig.journal.next_sequence)
        rig.write(data=b"x" * 3000)
    durable = rig.journal.next_sequence
    assert rig.write("b-0")
    rig.disk.power_cut_at = rig.disk.operations + 1 + seed % 2
    with pytest.raises(PowerCut):
        rig.write("b-0")
    rig.disk.crash()
    assert durable in rig.needed()
    assert not read_journal(rig.disk, "/data", ID).damage


def test_a_block_that_changed_in_the_middle_is_reported() -> None:
    rig = Rig()
    rig.fill(1)
    for position in range(3):
        rig.write(position=position)
    rig.disk.flip_bit(f"/data/{JOURNAL}0", ALIGNMENT + 60)
    content = read_journal(rig.disk, "/data", ID)
    assert content.damage == ["1 blocks below the block 3 are not as they were written"]
    assert [block.sequence for block in content.blocks] == [1, 3]


def test_the_last_block_may_be_torn() -> None:
    rig = Rig()
    rig.fill(1)
    for position in range(3):
        rig.write(position=position)
    rig.disk.flip_bit(f"/data/{JOURNAL}0", 2 * ALIGNMENT + 60)
    assert (rig.needed(), read_journal(rig.disk, "/data", ID).damage) == ([1, 2], [])


def test_a_journal_whose_files_are_gone_is_reported() -> None:
    rig = Rig()
    assert read_journal(rig.disk, "/data", ID).damage == ["the files /data/tidelog-journal.* are gone"]


def test_a_replay_fills_holes_and_keeps_what_is_behind() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    rig.write("a-0", 4, b"efgh")
    rig.disk.open(FILE.format("a-0")).write_at(0, [b"ab\0\0\0\0ghij"])
    done = replay(rig.disk, "/data", ID, lambda _: TOPIC)
    assert (done.logs, done.bytes, done.damage) == (1, 8, [])
    assert rig.disk.open(FILE.format("a-0")).read_at(0, 99) == b"abcdefghij"
    assert replay(rig.disk, "/data", ID, lambda _: TOPIC).bytes == 0


@pytest.mark.parametrize("make_disk", [MemoryDisk, EncryptedMemoryDisk], ids=["plain", "encrypted"])
def test_a_replay_writes_also_what_the_kernel_only_seems_to_have_written(
    make_disk: Callable[[], MemoryDisk],
) -> None:
    rig = Rig(disk=make_disk())
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    file = rig.disk.open(FILE.format("a-0"))
    file.write_at(0, [b"abcd"])
    rig.disk.fail("sync", "/a-0")
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    rig.disk.heal()
    assert replay(rig.disk, "/data", ID, lambda _: TOPIC).bytes == 0
    rig.disk.crash()
    assert rig.disk.open(FILE.format("a-0")).read_at(0, 99) == b"abcd"


def test_a_replay_whose_sync_fails_leaves_a_mark_for_the_next_start() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    rig.disk.fail("sync", "/a-0")
    assert list(replay(rig.disk, "/data", ID, lambda _: TOPIC).failed) == ["a-0"]
    assert failed_sync.is_marked(rig.disk, "/data/a-0")


@pytest.mark.parametrize("operation", ["open", "read", "write", "sync"])
def test_a_log_whose_file_fails_is_left_out_and_its_entries_stay(operation: str) -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    rig.write("b-0", 0, b"efgh")
    rig.disk.fail(operation, "/a-0/")
    done = replay(rig.disk, "/data", ID, lambda _: TOPIC)
    rig.disk.heal()
    assert list(done.failed) == ["a-0"]
    assert rig.disk.open(FILE.format("b-0")).read_at(0, 99) == b"efgh"
    assert done.unfinished is not None
    for is_next_start in (False, True):
        kept = read_journal(rig.disk, "/data", ID).entries()
        assert [(entry.directory, bytes(entry.data)) for entry in kept] == [("a-0", b"abcd")]
        if is_next_start:
            replay(rig.disk, "/data", ID, lambda _: TOPIC)
    assert rig.disk.open(FILE.format("a-0")).read_at(0, 99) == b"abcd"


def test_a_replay_that_cannot_say_which_logs_are_done_fails() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    rig.disk.fail("write", "/a-0/")
    rig.disk.fail("write", "/journal-void")
    with pytest.raises(OSError, match="Input/output"):
        replay(rig.disk, "/data", ID, lambda _: TOPIC)


def test_a_log_that_was_left_out_is_completed_once_its_file_works() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"abcd")
    rig.disk.fail("write", "/a-0/", error=errno.ENOSPC)
    unfinished = replay(rig.disk, "/data", ID, lambda _: TOPIC).unfinished
    assert unfinished
    with pytest.raises(OSError, match="No space"):
        unfinished.finish("a-0", TOPIC)
    assert unfinished
    rig.disk.heal()
    unfinished.finish("a-0", TOPIC)
    assert rig.disk.open(FILE.format("a-0")).read_at(0, 99) == b"abcd"
    assert not unfinished
    assert not read_journal(rig.disk, "/data", ID).entries()


def test_a_replay_touches_no_log_of_another_topic_and_none_that_is_gone() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"old")
    rig.write("gone-0", 0, b"old")
    assert replay(rig.disk, "/data", ID, lambda _: b"n" * 16).bytes == 0
    assert rig.disk.size(FILE.format("a-0")) == 0


def test_voided_entries_do_not_count_and_later_ones_do() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"old!")
    assert rig.journal.mentions("a-0")
    rig.journal.void("a-0")
    assert rig.journal.has_unwritten_voids
    rig.journal.write_voids()
    assert not rig.journal.mentions("a-0")
    rig.write("a-0", 0, b"new")
    assert rig.journal.mentions("a-0")
    replay(rig.disk, "/data", ID, lambda _: TOPIC)
    assert rig.disk.open(FILE.format("a-0")).read_at(0, 99) == b"new"
    assert read_voids(rig.disk, "/data") == {"a-0": 2}


def test_without_knowing_what_is_void_nothing_is_replayed() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write("a-0", 0, b"old")
    file = rig.disk.open("/data/journal-void-checkpoint", create=True)
    file.truncate(0)
    file.write_at(0, [b"0\n5\n"])
    done = replay(rig.disk, "/data", ID, lambda _: TOPIC)
    assert done.bytes == 0
    assert "no entry of the journal can be used" in done.damage[0]


def test_a_journal_begins_anew_with_another_id_and_higher_sequences() -> None:
    rig = Rig()
    rig.fill(1)
    rig.write()
    rig.disk.fail("sync", JOURNAL, error=errno.EIO)
    rig.write("b-0")
    rig.disk.heal()
    before = rig.journal.next_sequence
    assert not rig.journal.is_unneeded
    for name in ("a-0", "b-0"):
        rig.journal.files_synced(name, before)
    assert rig.journal.is_unneeded
    rig.journal.begin_anew()
    assert not rig.journal.mentions("a-0")
    rig.fill(1)
    assert rig.begun == [ID, ID]
    rig.write()
    assert rig.needed() == [before]
    rig.journal.files_synced("a-0", before)  # of a sync that began before
    assert rig.journal._segments[0].users


def test_a_failed_write_is_the_end_of_the_journal() -> None:
    rig = Rig()
    rig.fill(1)
    rig.disk.fail("sync", JOURNAL, error=errno.EIO)
    rig.write()
    assert rig.journal.failure is not None
    assert not rig.journal.wants_file
    assert rig.journal.wants_file_syncs
    assert rig.journal.logs_to_sync() == ["a-0"], "what it has of them is not to be relied on"


def test_a_log_dir_that_goes_offline_while_a_file_is_made_gets_none() -> None:
    def is_offline(_: int) -> bool:
        raise StorageError("the log dir is offline")

    rig = Rig(has_room=is_offline)
    assert not rig.write()
    assert not rig.begun

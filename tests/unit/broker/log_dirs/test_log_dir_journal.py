"""A log dir with a journal: how it is marked, what a start makes of it, and what a stop leaves."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_EPOCH
from tidelog.base.ports import read_file
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.metadata.brokers.registration_rules import CRASHED_SYNCED
from tidelog.storage.journal.block import ALIGNMENT, JournalEntry
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.files import HIGH_WATERMARKS, LogDirIdentity
from tidelog.storage.segment.warm import WarmSegments
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch

TOPIC = b"orders".ljust(16)
FILE = "/data/orders-0/00000000000000000000.log"


class Rig:
    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.open()

    def open(self) -> None:
        self.log_dir = LogDir(self.disk, "/data")
        self.log_dir.open(LogDirIdentity("c", 1, "d"))
        self.log_dir.use_journal(1 << 15, 2, lambda: b"j" * 16)
        journal = self.log_dir.journal
        assert journal is not None
        self.journal = journal
        self.log = self.open_log()

    def open_log(self) -> PartitionLog:
        log = self.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0, is_synced_first=True)
        log.journal = self.journal
        flush = log.begin_flush()
        if flush is not None:
            flush.run()
            log.finish_flush(flush)
        return log

    def append(self) -> None:
        batch = memoryview(write_batch([Record(0, 0, None, b"value")]))
        self.log.append(batch, check_batches(batch), leader_epoch=0, now_ms=0)

    def share(self) -> None:
        self.append()
        journaled = self.log.begin_journaling(1 << 20)
        if journaled is None:  # the leader epoch is new
            flush = self.log.begin_flush()
            assert flush is not None
            flush.run()
            self.log.finish_flush(flush)
            return
        entries = [JournalEntry(self.log.name, TOPIC, *journaled.start, journaled.data)]
        write = self.journal.begin(entries)
        if write is None:
            self.journal.created(self.journal.create()())
            write = self.journal.begin(entries)
        assert write is not None
        write.run()
        self.journal.finish(write)
        self.log.finish_journaling(journaled)

    def meta(self) -> bytes:
        return read_file(self.disk, "/data/meta.properties") or b""

    def fill_disk(self) -> None:
        total, free = self.disk.free_bytes("/")
        self.disk.capacity_bytes = total - free

    def journal_files(self) -> list[str]:
        return [name for name in self.disk.names("/data") if "journal" in name]


def test_the_journal_gives_back_what_the_file_lost_and_is_gone_afterwards() -> None:
    rig = Rig()
    for _ in range(4):
        rig.share()
    assert rig.log.synced_end == 4
    kept = rig.disk.open(FILE).read_at(0, 9999)
    synced = rig.log.recovery_point
    rig.disk.release_locks()
    rig.disk.open(FILE).truncate(len(kept) // 4 * synced)
    rig.open()
    assert rig.disk.open(FILE).read_at(0, 9999) == kept
    assert (rig.log.end, rig.journal_files()) == (4, [])
    assert rig.log.recovery.torn_writes == []


def test_a_log_dir_with_a_journal_is_marked_so_that_older_versions_refuse_it() -> None:
    rig = Rig()
    rig.append()
    assert rig.meta().startswith(b"version=1\n")
    for _ in range(3):
        rig.share()
    assert rig.meta().startswith(b"version=2\n")
    assert b"\njournal.id=" + (b"j" * 16).hex().encode() in rig.meta()
    rig.log.close(clean=True)
    rig.log_dir.logs_are_closed([], in_order=True)
    rig.log_dir._closed_cleanly = True
    rig.log_dir.close()
    assert rig.meta().startswith(b"version=1\n")
    assert rig.journal_files() == []


def test_a_stop_that_was_not_clean_keeps_the_journal() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.log_dir.close()
    assert rig.meta().startswith(b"version=2\n")
    assert "tidelog-journal.0" in rig.journal_files()


def test_damage_in_the_middle_is_reported_kept_and_leads_to_a_loss(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    for _ in range(4):
        rig.share()
    rig.log_dir.files.write_checkpoint(HIGH_WATERMARKS, {("orders", 0): 4})
    rig.disk.flip_bit("/data/tidelog-journal.0", ALIGNMENT + 70)
    synced = rig.disk.size(FILE) // 4
    rig.disk.open(FILE).truncate(synced)
    rig.disk.release_locks()
    with caplog.at_level(logging.ERROR):
        rig.open()
    assert "1 blocks below the block 3 are not as they were written" in caplog.text
    assert rig.journal_files() == ["tidelog-damaged-journal.0"]
    assert rig.log.recovery.losses or rig.log.recovery.damages


def test_after_damage_to_the_journal_the_logs_do_not_pass_for_synced() -> None:
    """Records below the lost block may be missing without a trace: other replicas should lead."""
    for is_damaged in (False, True):
        rig = Rig()
        for _ in range(4):
            rig.share()
        if is_damaged:
            rig.disk.flip_bit("/data/tidelog-journal.0", ALIGNMENT + 70)
        rig.disk.release_locks()
        rig.open()
        log_dirs = LogDirs([rig.log_dir], WarmSegments())
        expected = NO_EPOCH if is_damaged else CRASHED_SYNCED
        assert log_dirs.previous_epoch(is_synced_first=True) == expected
        assert log_dirs.previous_epoch(is_synced_first=False) == NO_EPOCH


def test_files_without_the_mark_of_a_journal_count_for_nothing() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.log_dir.files.end_journal()
    rig.disk.release_locks()
    size = rig.disk.size(FILE)
    rig.disk.open(FILE).truncate(size // 3)
    rig.open()
    assert rig.disk.size(FILE) == size // 3
    assert rig.journal_files() == []


def test_a_truncation_after_one_that_found_the_disk_full_does_not_come_back() -> None:
    rig = Rig()
    for _ in range(4):
        rig.share()
    rig.disk.fail("write", "journal-void", error=errno.ENOSPC)
    with pytest.raises(KafkaError):
        rig.log.truncate_to(2)
    assert (rig.log.is_short, rig.log.end) == (True, 4)
    rig.disk.heal()
    rig.log = rig.open_log()  # as a log is reopened when there is room
    rig.log.truncate_to(2)
    rig.disk.release_locks()
    rig.open()
    assert rig.log.end == 2


def test_a_stop_whose_journal_cannot_be_ended_lets_go_of_the_log_dir() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.log.close(clean=True)
    rig.log_dir._closed_cleanly = True
    rig.disk.fail("rename", "meta.properties")
    rig.log_dir.close()
    rig.disk.heal()
    assert not rig.disk.exists("/data/.kafka_cleanshutdown")
    rig.open()
    assert rig.log.end == 3


def test_a_start_on_a_full_disk_replays_the_journal_whose_files_make_room_for_the_note_of_its_end() -> None:
    rig = Rig()
    for _ in range(4):
        rig.share()
    rig.disk.release_locks()
    rig.fill_disk()
    rig.open()
    assert rig.log_dir.offline is None
    assert rig.meta().startswith(b"version=1\n")
    assert (rig.log.end, rig.journal_files()) == (4, [])


def test_a_clean_stop_on_a_full_disk_is_clean() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.log.close(clean=True)
    rig.log_dir._closed_cleanly = True
    rig.fill_disk()
    rig.log_dir.close()
    assert rig.meta().startswith(b"version=1\n")
    assert rig.disk.exists("/data/.kafka_cleanshutdown")


def test_a_name_is_used_again_only_after_the_thread_that_writes_voids_is_done() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    order: list[str] = []

    @contextmanager
    def lock() -> Iterator[None]:
        order.append("waited")
        yield

    rig.journal._one_writer = lock()
    rig.journal.has_unwritten_voids = False  # as while another thread writes them
    rig.log_dir.open_log("orders", b"another".ljust(16), 0, LogConfig(), now_ms=0, is_new=True)
    assert order == ["waited"]


def test_a_topic_that_is_called_as_the_journal_is_harms_nothing() -> None:
    rig = Rig()
    rig.log_dir.open_log("tidelog-journal.0", b"odd".ljust(16), 0, LogConfig(), now_ms=0)
    for _ in range(3):
        rig.share()
    rig.disk.flip_bit("/data/tidelog-journal.0", 70)
    rig.disk.release_locks()
    rig.open()
    assert rig.log_dir.offline is None
    assert "tidelog-journal.0-0" in rig.disk.names("/data")
    assert rig.log.end == 3


def crashed_with_a_log_that_fails(operation: str = "write", path_part: str = "/orders-0/0000") -> Rig:
    """Its file lost what only the journal has, and another log is well."""
    rig = Rig()
    for _ in range(4):
        rig.share()
    rig.disk.open(FILE).truncate(rig.disk.size(FILE) // 4)
    rig.disk.release_locks()
    rig.disk.fail(operation, path_part)
    rig.log_dir = LogDir(rig.disk, "/data")
    rig.log_dir.open(LogDirIdentity("c", 1, "d"))
    rig.log_dir.use_journal(1 << 15, 2, lambda: b"k" * 16)
    return rig


@pytest.mark.parametrize("operation", ["open", "read", "write", "sync"])
def test_a_log_whose_file_fails_while_the_journal_is_replayed_is_offline_alone(
    operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        rig = crashed_with_a_log_that_fails(operation)
    assert "/data/orders-0 cannot take back what only the journal has of it" in caplog.text
    assert rig.log_dir.offline is None
    with pytest.raises(OSError, match="Input/output"):
        rig.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0)
    rig.log_dir.open_log("others", b"o" * 16, 0, LogConfig(), now_ms=0, is_new=True)
    assert rig.log_dir.journal is not None
    assert rig.log_dir.journal.failure is not None
    rig.log_dir.logs_are_closed([], in_order=True)
    rig.log_dir.close()
    assert not rig.disk.exists("/data/.kafka_cleanshutdown")
    rig.disk.heal()
    rig.open()
    assert (rig.log.end, rig.journal_files()) == (4, [])


def test_a_log_that_works_again_is_opened_with_all_it_had_and_the_journal_can_begin_anew() -> None:
    rig = crashed_with_a_log_that_fails()
    rig.disk.heal()
    assert not rig.log_dir.can_restart_journal
    assert rig.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0).end == 4
    assert rig.log_dir.can_restart_journal
    rig.log_dir.end_failed_journal()()
    assert rig.meta().startswith(b"version=1\n")
    assert rig.journal_files() == []


def test_a_log_that_takes_the_name_of_one_that_was_left_out_gets_nothing_of_it() -> None:
    rig = crashed_with_a_log_that_fails()
    rig.disk.heal()
    removed = rig.log_dir.forget(TOPIC, 0)
    assert removed is not None
    rig.log_dir.files.remove(rig.log_dir.files.mark_deleted(removed, b"u" * 16))
    rig.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0, is_new=True)
    rig.disk.release_locks()
    rig.open()
    assert rig.log.end == 0


def removed_while_left_out() -> Rig:
    """The journal has begun anew since, and another log shares it."""
    rig = crashed_with_a_log_that_fails()
    rig.disk.heal()
    journal = rig.log_dir.journal
    assert journal is not None
    rig.journal = journal
    rig.log = rig.log_dir.open_log("others", b"o" * 16, 0, LogConfig(), now_ms=0, is_new=True)
    rig.log.journal = journal
    removed = rig.log_dir.forget(TOPIC, 0)
    assert removed is not None
    rig.log_dir.files.remove(rig.log_dir.files.mark_deleted(removed, b"u" * 16))
    assert rig.log_dir.can_restart_journal
    rig.log_dir.end_failed_journal()()
    journal.begin_anew()
    rig.share()
    rig.share()
    assert rig.meta().startswith(b"version=2\n")
    return rig


def test_what_was_void_in_a_journal_is_not_void_in_the_one_that_took_its_place() -> None:
    """Blocks are numbered from 1 again, so voids of the old one would reach far into the new one."""
    rig = removed_while_left_out()
    rig.log = rig.open_log()  # the name is used again, or the partition was given back
    for _ in range(3):
        rig.share()
    assert rig.log.synced_end == 3 > rig.log.recovery_point
    rig.disk.open(FILE).truncate(rig.disk.size(FILE) // 3)
    rig.disk.release_locks()
    rig.open()
    assert rig.log.end == 3


def test_a_thread_that_waited_for_the_end_of_a_journal_writes_none_of_its_voids() -> None:
    rig = crashed_with_a_log_that_fails()
    unfinished = rig.log_dir._unfinished
    assert unfinished is not None
    unfinished.drop("orders-0")

    @contextmanager
    def lock() -> Iterator[None]:
        rig.log_dir._unfinished = None  # as another thread does meanwhile
        yield

    rig.log_dir._one_finisher = lock()  # type: ignore[assignment]
    rig.disk.fail("*", "/journal-void")
    rig.log_dir.open_log("others", b"o" * 16, 0, LogConfig(), now_ms=0, is_new=True)


def test_a_directory_that_the_disk_cannot_look_up_at_a_start_keeps_its_entries() -> None:
    """It does not pass for one that is gone, whose name another may take."""
    rig = crashed_with_a_log_that_fails("look", "/orders-0")
    assert rig.log_dir.offline is not None
    rig.disk.heal()
    rig.disk.release_locks()
    rig.open()
    assert rig.log.end == 4


def test_a_journal_that_cannot_be_ended_while_the_broker_runs_keeps_its_files(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Or a crash would leave a log dir that names a journal without files, which passes for damage."""
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.disk.fail("write", "meta.properties", error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        rig.log_dir.end_failed_journal()()
    rig.disk.heal()
    rig.disk.release_locks()
    with caplog.at_level(logging.ERROR):
        rig.open()
    assert not rig.log_dir.journal_was_damaged
    assert not caplog.records


def test_a_journal_whose_beginning_is_noted_in_part_does_not_pass_for_damaged() -> None:
    """Its id is in meta.properties, but perhaps not for long: the sync of the directory failed."""
    rig = Rig()
    rig.share()
    end_of_note = rig.disk.fail("sync_dir", "/data", number=3)  # of the file, of the voids, of the note
    rig.append()
    assert rig.journal.begin([]) is None
    rig.journal.created(rig.journal.create()())
    assert end_of_note.number == 0
    rig.disk.heal()
    rig.disk.release_locks()
    rig.open()
    assert not rig.log_dir.journal_was_damaged


def test_a_stop_without_a_descriptor_for_the_note_keeps_the_journal() -> None:
    rig = Rig()
    for _ in range(3):
        rig.share()
    rig.log.close(clean=True)
    rig.log_dir._closed_cleanly = True
    rig.disk.fail("open", "meta.properties", error=errno.EMFILE)
    rig.log_dir.close()
    rig.disk.heal()
    rig.open()
    assert (rig.log.end, rig.log_dir.journal_was_damaged) == (3, False)


def test_a_full_disk_at_a_start_leaves_out_logs_until_there_is_room() -> None:
    rig = Rig()
    for _ in range(4):
        rig.share()
    rig.disk.open(FILE).truncate(rig.disk.size(FILE) // 4)
    rig.disk.release_locks()
    rig.disk.fail("write", "/orders-0/", error=errno.ENOSPC)
    rig.log_dir = LogDir(rig.disk, "/data")
    rig.log_dir.open(LogDirIdentity("c", 1, "d"))
    with pytest.raises(OSError, match="No space"):
        rig.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0)
    rig.disk.heal()
    assert rig.log_dir.open_log("orders", TOPIC, 0, LogConfig(), now_ms=0).end == 4

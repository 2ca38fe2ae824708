"""Moves between log dirs when the disk fails or power goes at the worst moment."""

import errno
import threading
from collections.abc import Iterator

import pytest

from tests.faults.log_calls import EARLIEST, batch, create_topic, offset_at, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E, codes_of, delete_records, move
from tests.faults.raw_client import DEADLINE_S, wait_until
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.replication.partition import Partition
from tidelog.storage.log import PartitionLog
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest


class StubbornDisk(MemoryDisk):
    """Keeps copies from getting their final names, or threads from reading, if asked to."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.refuses_copies = False
        self.threads_may_read = threading.Event()
        self.threads_may_read.set()

    def before(self, operation: str, path: str) -> None:
        if operation == "read" and threading.current_thread().name.startswith("tidelog-disk"):
            self.threads_may_read.wait(DEADLINE_S)
        super().before(operation, path)
        if self.refuses_copies and operation == "rename" and path.endswith("-future"):
            raise OSError(errno.ENOSPC, "no room for a name", path)


def moved(node: NodeThread, path: str) -> None:
    with node.connect() as client:
        answer = client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, move(path, "t", 0))
        assert set(codes_of(answer)) <= {E.NONE}


@pytest.fixture
def two_log_dirs() -> Iterator[NodeThread]:
    disk = StubbornDisk(seed=7)
    for log_dir in ("/data", "/more"):
        disk.make_dirs(log_dir)
    disk.sync_dir("/")
    with NodeThread(disk, log_dirs="/data,/more") as running:
        with running.connect() as client:
            create_topic(client, "t")
            for value in (b"1", b"2", b"3"):
                assert produce(client, "t", batch(value)).error_code == E.NONE
        yield running


def test_a_log_without_records_moves(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    with node.connect() as client:
        client.ask(ApiKey.DELETE_RECORDS, delete_records("t", 0, -1))
        there = "/more" if node.disk.is_dir("/data/t-0") else "/data"
        moved(node, there)
        wait_until(lambda: node.disk.is_dir(f"{there}/t-0"), "the move")
        assert offset_at(client, "t", EARLIEST) == offset_at(client, "t") == 3
        assert produce(client, "t", batch(b"4")).base_offset == 3


def test_deleted_records_stay_so_when_power_goes_right_after_a_move(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    with node.connect() as client:
        assert produce(client, "t", batch(b"4", b"5", b"6")).base_offset == 3
        client.ask(ApiKey.DELETE_RECORDS, delete_records("t", 0, 5))
        there = "/more" if node.disk.is_dir("/data/t-0") else "/data"
        moved(node, there)
        wait_until(lambda: node.disk.is_dir(f"{there}/t-0"), "the move")
        assert produce(client, "t", batch(b"7")).base_offset == 6
    node.power_cut()
    node.start()
    with node.connect() as client:
        assert [record.value for record in read_all(client, "t")] == [b"6", b"7"]


def test_a_swap_that_fails_half_way_loses_nothing(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    there = "/more" if node.disk.is_dir("/data/t-0") else "/data"
    assert isinstance(node.disk, StubbornDisk)
    node.disk.refuses_copies = True
    with node.connect() as client:
        moved(node, there)
        wait_until(lambda: produce(client, "t", batch(b"x")).error_code == E.KAFKA_STORAGE_ERROR, "the error")
    node.stop()
    node.disk.refuses_copies = False
    node.start()
    with node.connect() as client:
        assert [record.value for record in read_all(client, "t")][:3] == [b"1", b"2", b"3"]


def test_a_move_that_is_called_off_does_not_take_the_next_one_with_it(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    disk = node.disk
    assert isinstance(disk, StubbornDisk)
    with node.connect() as client:
        for _ in range(5):
            assert produce(client, "t", batch(bytes(900_000))).error_code == E.NONE
        here, there = ("/data", "/more") if disk.is_dir("/data/t-0") else ("/more", "/data")
        disk.threads_may_read.clear()
        moved(node, there)
        wait_until(lambda: any(name.endswith("-future") for name in disk.names(there)), "a copy")
        back_and_forth = AlterReplicaLogDirsRequest(
            dirs=[*move(here, "t", 0).dirs, *move(there, "t", 0).dirs]
        )
        client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, back_and_forth)
        disk.threads_may_read.set()
        wait_until(lambda: disk.is_dir(f"{there}/t-0"), "the move")
        assert [record.value for record in read_all(client, "t")][:3] == [b"1", b"2", b"3"]
        assert offset_at(client, "t") == 8
        wait_until(lambda: not any(name.endswith("-future") for name in disk.names(there)), "no litter")


def test_a_log_is_not_compacted_while_it_is_copied(
    two_log_dirs: NodeThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that has a value would miss the tombstone that compaction removes meanwhile."""
    node = two_log_dirs
    disk = node.disk
    assert isinstance(disk, StubbornDisk)
    sources: list[PartitionLog] = []
    begin_copy = LogDir.begin_copy

    def watched(log_dir: LogDir, partition: Partition, now_ms: int) -> PartitionLog:
        sources.append(partition.log)
        return begin_copy(log_dir, partition, now_ms)

    monkeypatch.setattr(LogDir, "begin_copy", watched)
    with node.connect() as client:
        for _ in range(5):
            assert produce(client, "t", batch(bytes(900_000))).error_code == E.NONE
        there = "/more" if disk.is_dir("/data/t-0") else "/data"
        disk.threads_may_read.clear()
        moved(node, there)
        [source] = sources
        assert source.compaction.copies_under_way == 1
        disk.threads_may_read.set()
        wait_until(lambda: disk.is_dir(f"{there}/t-0"), "the move")
        wait_until(lambda: source.compaction.copies_under_way == 0, "the end of the copy")

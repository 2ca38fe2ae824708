"""A log that cannot be opened, or whose log dir is gone, is neither begun anew nor taken for closed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.faults.log_calls import EARLIEST, batch, create_topic, offset_at, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E, delete_records
from tidelog.base.ids import uuid_text
from tidelog.server.disk_threads import DiskThreads, DiskThreadsBusy
from tidelog.storage.log_dir.partition_dir import write_topic_id
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey

run_in_thread = DiskThreads.run

CLEAN_MARK = "/data/.kafka_cleanshutdown"


@pytest.fixture
def two_log_dirs() -> Iterator[NodeThread]:
    disk = MemoryDisk(seed=7)
    disk.make_dirs("/more")
    with NodeThread(disk, log_dirs="/data,/more") as running:
        yield running


def log_dir_of(node: NodeThread, partition: str) -> str:
    return next(log_dir for log_dir in ("/data", "/more") if node.disk.is_dir(f"{log_dir}/{partition}"))


def test_a_log_dir_that_is_gone_at_a_start(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    with node.connect() as client:
        create_topic(client, "t", 4)
        for index in range(4):
            assert produce(client, "t", batch(b"kept"), index=index).error_code == E.NONE
    node.stop()
    log_dirs = [log_dir_of(node, f"t-{index}") for index in range(4)]
    assert set(log_dirs) == {"/data", "/more"}
    node.disk.fail("*", "/more")
    node.start()
    with node.connect() as client:
        for index, log_dir in enumerate(log_dirs):
            expected = E.NONE if log_dir == "/data" else E.KAFKA_STORAGE_ERROR
            assert E(produce(client, "t", batch(b"more"), index=index).error_code) is expected
        create_topic(client, "new")
        assert produce(client, "new", batch(b"x")).error_code == E.NONE
    node.stop()
    node.disk.heal()
    node.start()
    with node.connect() as client:
        for index, log_dir in enumerate(log_dirs):
            values = [record.value for record in read_all(client, "t", index)]
            assert values == ([b"kept", b"more"] if log_dir == "/data" else [b"kept"])


def test_half_a_copy_is_not_taken_while_its_original_is_out_of_reach(two_log_dirs: NodeThread) -> None:
    node = two_log_dirs
    with node.connect() as client:
        topic_id = create_topic(client, "t", 2)
        for index in (0, 1):
            assert produce(client, "t", batch(b"kept"), index=index).error_code == E.NONE
    node.stop()
    [index] = [index for index in (0, 1) if log_dir_of(node, f"t-{index}") == "/more"]
    copy = f"/data/t-{index}.{uuid_text(topic_id)}-future"
    node.disk.make_dirs(copy)
    write_topic_id(node.disk, copy, topic_id)
    node.disk.fail("*", "/more")
    node.start()
    with node.connect() as client:
        assert produce(client, "t", batch(b"x"), index=index).error_code == E.KAFKA_STORAGE_ERROR
    node.stop()
    node.disk.heal()
    node.start()
    with node.connect() as client:
        assert [record.value for record in read_all(client, "t", index)] == [b"kept"]


def test_a_log_that_could_not_be_opened_is_not_called_clean() -> None:
    with NodeThread(durability="os") as node:
        with node.connect() as client:
            create_topic(client, "t", 2)
            for index in (0, 1):
                for value in (b"first", b"second"):
                    assert produce(client, "t", batch(value), index=index).error_code == E.NONE
            client.ask(ApiKey.DELETE_RECORDS, delete_records("t", 0, 1))
        node.stop()
        assert node.disk.exists(CLEAN_MARK)
        node.disk.fail("open", "/data/t-0/0")
        node.start()
        with node.connect() as client:
            assert produce(client, "t", batch(b"x")).error_code == E.KAFKA_STORAGE_ERROR
            assert produce(client, "t", batch(b"x"), index=1).error_code == E.NONE
        node.disk.heal()
        node.stop()
        assert not node.disk.exists(CLEAN_MARK), "nobody has looked at t-0"
        node.start()
        with node.connect() as client:
            assert offset_at(client, "t", EARLIEST) == 1, "deleted records are back"
            assert [record.value for record in read_all(client, "t")] == [b"second"]


def test_a_topic_made_while_the_disk_threads_take_no_more_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = 0

    def busy(threads: DiskThreads, job: Callable[[], Any]) -> Any:
        nonlocal refusals
        if refusals and "_open_some" in repr(job):
            refusals -= 1
            raise DiskThreadsBusy("10004 disk jobs are waiting")
        return run_in_thread(threads, job)

    monkeypatch.setattr(DiskThreads, "run", busy)
    with NodeThread() as node, node.connect() as client:
        refusals = 2
        create_topic(client, "t")
        assert refusals == 0
        assert produce(client, "t", batch(b"x")).error_code == E.NONE

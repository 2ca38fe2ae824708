"""Log dirs that become read-only, vanish or hang under a running broker: what it says, and what goes on."""

import threading
import time
from collections.abc import Callable

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import batch, create_topic, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E, new_topic
from tests.faults.raw_client import RawClient, wait_until
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest
from tidelog.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tidelog.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.usefixtures("no_failures")


def values(client: RawClient, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(client, topic)]


def is_refused(client: RawClient, topic: str) -> bool:
    """By the log first, and as soon as the controller knows, since the partition has no leader."""
    answer = produce(client, topic, batch(b"refused"))
    return E(answer.error_code) in {E.KAFKA_STORAGE_ERROR, E.NOT_LEADER_OR_FOLLOWER}


def logged(broker_log: Lines, path: str) -> int:
    return sum(f"log dir {path} is offline with" in line for line in broker_log.text)


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_a_log_dir_that_becomes_read_only(durability: str, broker_log: Lines) -> None:
    with NodeThread(durability=durability) as node:
        with node.connect() as client:
            create_topic(client, "t")
            create_topic(client, "idle")
            assert produce(client, "t", batch(b"before")).error_code == E.NONE
            node.disk.is_read_only = True
            wait_until(lambda: is_refused(client, "t") and is_refused(client, "idle"), "both are offline")
            wait_until(lambda: logged(broker_log, "/data") == 1, "the whole log dir is offline")
        [line] = [line for line in broker_log.text if "log dir /data is offline with" in line]
        assert "Read-only file system" in line
        assert "repair its disk, then restart" in line
        node.power_cut()
        node.start()
        with node.connect() as client:
            if durability == "fsync":
                assert values(client, "t") == [b"before"]
            assert produce(client, "t", batch(b"after")).error_code == E.NONE


def remove(disk: MemoryDisk) -> None:
    disk.remove_tree("/more")


def unmount_and_mount_another(disk: MemoryDisk) -> None:
    file = disk.open("/more/meta.properties")
    text = file.read_at(0, file.size()).replace(b"directory.id=", b"directory.id=X")
    file.truncate(0)
    file.write_at(0, [text])


@pytest.mark.parametrize("vanish", [remove, unmount_and_mount_another])
def test_one_of_two_log_dirs_vanishes(vanish: Callable[[MemoryDisk], None], broker_log: Lines) -> None:
    """Its open files could still be written, and no start would find what they hold."""
    disk = MemoryDisk(seed=7)
    disk.make_dirs("/more")
    with NodeThread(disk, log_dirs="/data,/more") as node, node.connect() as client:
        for name in ("a", "b"):
            create_topic(client, name)
        log_dirs = list(node.node.services.partitions.log_dirs)
        gone = next(name for name in "ab" if disk.exists(f"/more/{name}-0"))
        kept = "a" if gone == "b" else "b"
        vanish(disk)
        wait_until(lambda: log_dirs[1].offline is not None, "it is offline")
        assert is_refused(client, gone)
        assert produce(client, kept, batch(b"v")).error_code == E.NONE
        answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=None))
        assert [E(one.error_code) for one in answer.results] == [E.NONE, E.KAFKA_STORAGE_ERROR]
        client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topic_names=[gone]), 3)
        create_topic(client, "new")
        assert disk.exists("/data/new-0")
        assert logged(broker_log, "/more") == 1


def test_the_log_dir_of_the_metadata_vanishes() -> None:
    """A single broker goes on with what still works: others would have taken over."""
    with NodeThread() as node, node.connect() as client:
        create_topic(client, "t")
        assert produce(client, "t", batch(b"before")).error_code == E.NONE
        node.disk.remove_tree("/data")
        wait_until(lambda: node.node.quorum.failure is not None, "it has left the quorum")
        assert is_refused(client, "t")
        [made] = client.ask(ApiKey.CREATE_TOPICS, new_topic("new")).topics
        assert "deleted or unmounted" in (made.error_message or "")
        node.disk.make_dirs("/data")


class HangingDisk(MemoryDisk):
    """Syncs of partitions wait while it hangs."""

    def __init__(self) -> None:
        super().__init__(seed=7)
        self.goes_on = threading.Event()
        self.goes_on.set()

    def change(self, operation: str, path: str, half: Callable[[], None] | None = None) -> None:
        if operation == "sync" and "/t-0/" in path:
            self.goes_on.wait(30)
        super().change(operation, path, half)


def test_a_disk_that_hangs(broker_log: Lines) -> None:
    disk = HangingDisk()
    settings = {"log_slow_sync_ms": 200, "replica_lag_time_max_ms": 1500}
    with NodeThread(disk, durability="fsync", **settings) as node:  # noqa: SIM117
        with node.connect() as client, node.connect() as other:
            create_topic(client, "t")
            create_topic(client, "quick")
            assert produce(client, "t", batch(b"first")).error_code == E.NONE
            disk.goes_on.clear()
            waiting = threading.Thread(target=produce, args=(client, "t", batch(b"late")))
            waiting.start()
            [log_dir] = node.node.services.partitions.log_dirs
            wait_until(lambda: log_dir.hangs, "the disk is taken for one that hangs")
            began = time.monotonic()
            other.ask(ApiKey.METADATA, MetadataRequest(topics=None))
            assert produce(other, "quick", batch(b"v")).error_code == E.NONE
            assert time.monotonic() - began < 2, "the loop goes on"
            assert values(other, "t") == [b"first"], "what is not synced is not read"
            disk.goes_on.set()
            waiting.join(30)
            assert values(other, "t") == [b"first", b"late"], "no other replica could take over"
            wait_until(lambda: not log_dir.hangs and log_dir.slow_syncs == 1, "it is over")
    for part in ("a sync of /data has taken", "has not finished a sync for", "of /data syncs again"):
        assert sum(part in line for line in broker_log.text) == 1, part

"""A thousand partitions created or deleted at once do not stop the event loop: no turn takes long, and none
waits for the disk."""

import gc
import selectors
import threading
import time
from collections.abc import Iterator

import pytest

from tests.faults.log_calls import batch, create_topic, produce
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E
from tests.faults.raw_client import RawClient
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

pytestmark = pytest.mark.usefixtures("no_failures")

TOPICS, PARTITIONS = 250, 4
TURN_SECONDS_MAX = 0.02
TRIES = 3
"""CPU time does not count others that run, but counts what they do to caches and clocks."""
SLOW_OPERATIONS = {"rename", "remove", "sync", "sync_dir", "make_dirs", "create"}


class WatchedDisk(MemoryDisk):
    """Remembers which slow operations ran on the loop's thread."""

    def __init__(self) -> None:
        super().__init__(seed=7)
        self.loop_thread: int | None = None
        self.on_the_loop: list[str] = []

    def before(self, operation: str, path: str) -> None:
        if operation in SLOW_OPERATIONS and threading.get_ident() == self.loop_thread:
            self.on_the_loop.append(f"{operation} {path}")
        super().before(operation, path)


class WatchedSelector(selectors.DefaultSelector):
    """What happens between two looks at the sockets is a turn."""

    longest = 0.0
    _woke = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.longest = max(self.longest, time.thread_time() - self._woke)
        try:
            return super().select(timeout)
        finally:
            self._woke = time.thread_time()


@pytest.fixture
def node() -> Iterator[NodeThread]:
    gc.disable()  # a collection looks at all that tests have made, and would count as a turn of the broker
    try:
        with NodeThread(WatchedDisk(), selector=WatchedSelector(), durability="fsync") as running:
            yield running
    finally:
        gc.enable()


def names() -> list[str]:
    return [f"t-{number}" for number in range(TOPICS)]


def create_all(client: RawClient) -> None:
    topics = [CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1) for name in names()]
    answer = client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=topics, timeout_ms=60_000))
    assert {topic.error_code for topic in answer.topics} == {E.NONE}


def delete_all(client: RawClient) -> None:
    doomed = [DeleteTopicState(name=name) for name in names()]
    answer = client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topics=doomed, timeout_ms=60_000))
    assert {topic.error_code for topic in answer.responses} == {E.NONE}


def test_no_turn_is_long(node: NodeThread) -> None:
    selector, disk = node.selector, node.disk
    assert isinstance(selector, WatchedSelector)
    assert isinstance(disk, WatchedDisk)
    with node.connect() as client:
        create_topic(client, "warm")
        assert produce(client, "warm", batch(b"v")).error_code == E.NONE
        longest = []
        for _ in range(TRIES):
            disk.loop_thread = node.thread_id
            selector.longest = 0.0
            create_all(client)
            delete_all(client)
            longest.append(selector.longest)
            disk.loop_thread = None
            if longest[-1] < TURN_SECONDS_MAX:
                break
        assert longest[-1] < TURN_SECONDS_MAX, longest
    assert not disk.on_the_loop[:5]

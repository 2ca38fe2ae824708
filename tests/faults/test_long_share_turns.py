"""Members of share groups that ask for much do not stop the event loop for others."""

import gc
from collections.abc import Iterator

import pytest

from tests.faults.log_calls import create_topic
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import UNKNOWN_ID, E
from tests.faults.raw_client import RawClient
from tests.faults.share_calls import beat, join_shares
from tests.faults.test_long_turns import WatchedSelector
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest

pytestmark = pytest.mark.usefixtures("no_failures")

TURN_SECONDS_MAX = 0.1
"""CPU time does not count others that run, but counts what they do to caches and clocks."""


@pytest.fixture
def node() -> Iterator[NodeThread]:
    gc.disable()  # a collection looks at all that tests have made, and would count as a turn of the broker
    try:
        with NodeThread(MemoryDisk(seed=7), selector=WatchedSelector(), durability="os") as running:
            yield running
    finally:
        gc.enable()


@pytest.fixture
def client(node: NodeThread) -> Iterator[RawClient]:
    with node.connect() as connected:
        yield connected


def longest(node: NodeThread) -> float:
    """Of the turns since the last call."""
    assert isinstance(node.selector, WatchedSelector)
    seconds, node.selector.longest = node.selector.longest, 0.0
    return seconds


def test_members_that_read_topics_of_their_own(node: NodeThread, client: RawClient) -> None:
    """None of the topics exists. (Sorted with each heartbeat, they took half a second.)"""
    create_topic(client, "jobs")
    join_shares(client, "workers", "first", "jobs")
    for member in range(150):
        longest(node)
        topics = [f"{number}-of-{member}" for number in range(2000)]
        assert beat(client, "workers", f"m{member}", 0, topics).error_code == E.NONE
    assert longest(node) < TURN_SECONDS_MAX


def test_a_session_that_names_100_000_partitions(node: NodeThread, client: RawClient) -> None:
    """Each short request after the first costs little. (All refused in each, they took 0.4 s.)"""
    create_topic(client, "jobs")
    join_shares(client, "workers", "anna", "jobs")
    parts = [FetchPartition(partition_index=number) for number in range(100_000)]
    for epoch in range(4):
        longest(node)
        request = ShareFetchRequest(
            group_id="workers",
            member_id="anna",
            share_session_epoch=epoch,
            max_bytes=1000,
            max_records=10,
            topics=[FetchTopic(topic_id=UNKNOWN_ID, partitions=parts)] if epoch == 0 else [],
        )
        answer = client.ask(ApiKey.SHARE_FETCH, request)
        assert [len(topic.partitions) for topic in answer.responses] == [1000]
    assert longest(node) < TURN_SECONDS_MAX

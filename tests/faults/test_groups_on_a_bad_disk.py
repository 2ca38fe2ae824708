"""Groups whose partition of `__consumer_offsets` is in trouble: its disk fails, or it is being loaded."""

import asyncio
import errno
import itertools
import threading

import pytest

from tests.faults.conftest import Lines
from tests.faults.group_calls import commit, committed, wait_for_coordinator
from tests.faults.log_calls import create_topic
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E
from tests.faults.raw_client import DEADLINE_S
from tidelog.broker.coordinators.runtime.loading import ReplayBatch, load_shard
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Partition
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

BY_NAME = 9


def test_offsets_that_could_not_be_synced_are_not_shown_and_nobody_waits() -> None:
    with NodeThread(durability="fsync", offsets_topic_num_partitions=1) as node:
        with node.connect() as client:
            create_topic(client, "t")
            wait_for_coordinator(client, "readers")
            commit(client, "readers", "t", {0: (5, None)})
            node.disk.fail("sync", "/data/__consumer_offsets-0")
            commit(client, "readers", "t", {0: (7, None)})
            for _ in range(2):
                asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="readers", topics=None)])
                [found] = client.ask(ApiKey.OFFSET_FETCH, asked, BY_NAME).groups
                assert E(found.error_code) is E.NOT_COORDINATOR
                assert not found.topics
            client.send_request(ApiKey.OFFSET_FETCH, BY_NAME, asked)
        node.stop()
        node.disk.heal()
        node.start()


@pytest.mark.parametrize("failures", [0, 1])
def test_a_topic_that_goes_while_its_groups_are_loaded_takes_their_offsets_with_it(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    may_end = threading.Event()
    loads = itertools.count()

    async def slow_load(
        partition: Partition,
        shard: GroupShard,
        replay: ReplayBatch[GroupShard],
        run_in_thread: RunInThread,
    ) -> int:
        count = await load_shard(partition, shard, replay, run_in_thread)
        await asyncio.get_running_loop().run_in_executor(None, may_end.wait, DEADLINE_S)
        if next(loads) < failures:
            raise OSError(errno.EIO, "the disk fails while the log is read")
        return count

    with NodeThread(offsets_topic_num_partitions=1) as node:
        with node.connect() as client:
            create_topic(client, "t")
            create_topic(client, "kept")
            wait_for_coordinator(client, "readers")
            for topic in ("t", "kept"):
                commit(client, "readers", topic, {0: (5, None)})
        node.stop()
        service = "tidelog.broker.coordinators.runtime.service"
        monkeypatch.setattr(f"{service}.load_shard", slow_load)
        monkeypatch.setattr(f"{service}.LOAD_RETRY_SECONDS", 0.01)
        node.start()
        with node.connect() as client:
            client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]))
            create_topic(client, "t")
            may_end.set()
            wait_for_coordinator(client, "readers")
            assert committed(client, "readers") == {("kept", 0): 5}, (
                "offsets of an earlier topic of that name"
            )


def test_a_deletion_is_answered_after_its_offsets_are_forgotten_for_good(broker_log: Lines) -> None:
    """Else a crash could hand them to the next topic of that name. A failing sync shows the wait for it."""
    with NodeThread(durability="fsync", offsets_topic_num_partitions=1) as node, node.connect() as client:
        create_topic(client, "t")
        wait_for_coordinator(client, "readers")
        commit(client, "readers", "t", {0: (5, None)})
        node.disk.fail("sync", "/data/__consumer_offsets-0")
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
        [gone] = client.ask(ApiKey.DELETE_TOPICS, doomed).responses
        assert E(gone.error_code) is E.NONE
        assert any("offsets of deleted topics may come back" in line for line in broker_log.text)

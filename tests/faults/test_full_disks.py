"""A full disk under a whole broker: what is there is served, what cannot be written is refused with the
reason, and with room again everything goes on by itself."""

import errno
import time
from collections.abc import Iterator

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import batch, create_topic, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E, codes_of, new_topic
from tests.faults.raw_client import RawClient, wait_until
from tests.faults.transaction_calls import Transactor
from tidelog.broker.log_dirs.log_reopening import LOOK_SECONDS
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(params=["fsync", "os"])
def node(request: pytest.FixtureRequest) -> Iterator[NodeThread]:
    with NodeThread(
        durability=request.param,
        offsets_topic_num_partitions=1,
        broker_heartbeat_interval_ms=100,
        broker_session_timeout_ms=1000,
    ) as running:
        with running.connect() as client:
            create_topic(client, "t", segment_bytes="16384")
            create_topic(client, "quiet")
            assert produce(client, "t", batch(b"before")).error_code == E.NONE
            client.ask(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(key="g"), 3)
            wait_until(lambda: commit(client, 1) == E.NONE, "the coordinator serves")
        yield running


def fill(node: NodeThread) -> None:
    total, free = node.disk.free_bytes("/data")
    node.disk.capacity_bytes = total - free


def commit(client: RawClient, offset: int) -> E:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    [code] = codes_of(client.ask(ApiKey.OFFSET_COMMIT, OffsetCommitRequest(group_id="g", topics=[topic]), 7))
    return code


def leader(client: RawClient, topic: str) -> int:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    answer = client.ask(ApiKey.METADATA, asked)
    return answer.topics[0].partitions[0].leader_id if answer.brokers else -1


def values(client: RawClient, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(client, topic)]


def test_everything_goes_on_when_there_is_room_again(node: NodeThread, broker_log: Lines) -> None:
    with node.connect() as client:
        me = leader(client, "t")
        fill(node)
        answer = produce(client, "t", batch(bytes(1000)))
        assert E(answer.error_code) is E.KAFKA_STORAGE_ERROR
        assert "No space left" in (answer.error_message or "")
        assert "free space" in (answer.error_message or "")
        assert commit(client, 2) != E.NONE
        [made] = client.ask(ApiKey.CREATE_TOPICS, new_topic("new")).topics
        assert E(made.error_code) is E.KAFKA_STORAGE_ERROR
        assert "free space" in (made.error_message or "")
        [made] = client.ask(ApiKey.CREATE_TOPICS, new_topic("newer")).topics
        assert E(made.error_code) is E.KAFKA_STORAGE_ERROR
        wait_until(lambda: node.node.quorum.disk_full is not None, "it is known that there is no room")
        assert values(client, "t") == [b"before"]
        assert leader(client, "t") == me, "it is neither fenced nor without a leader"
        node.disk.heal()
        wait_until(lambda: produce(client, "t", batch(b"after")).error_code == E.NONE, "t takes records")
        assert values(client, "t") == [b"before", b"after"]
        wait_until(lambda: commit(client, 2) == E.NONE, "offsets are committed")
        assert produce(client, "quiet", batch(b"v")).error_code == E.NONE
        wait_until(lambda: node.node.quorum.disk_full is None, "metadata are written")
        create_topic(client, "newest")
    logged = [line for line in broker_log.text if "/data/t-0 is offline" in line]
    assert len(logged) == 1, "told once, with the reason"
    assert "No space left" in logged[0]
    assert sum("t-0 accepts records again" in line for line in broker_log.text) == 1
    node.power_cut()
    node.start()
    with node.connect() as client:
        if node.node.config.text("durability") == "fsync":
            assert values(client, "t") == [b"before", b"after"]


def test_a_sync_that_had_no_room_is_made_up_for() -> None:
    """The kernel may take pages for clean that it could not write: they are written once more."""
    with NodeThread(durability="fsync") as node:
        with node.connect() as client:
            create_topic(client, "t")
            assert produce(client, "t", batch(b"before")).error_code == E.NONE
            node.disk.fail("sync", "/data/t-0/", error=errno.ENOSPC)
            assert produce(client, "t", batch(b"written")).error_code == E.KAFKA_STORAGE_ERROR
            assert values(client, "t") == [b"before"], "what is not safe must not be seen"
            node.disk.heal()
            wait_until(lambda: produce(client, "t", batch(b"after")).error_code == E.NONE, "it is back")
            assert values(client, "t") == [b"before", b"written", b"after"]
        node.power_cut()
        node.start()
        with node.connect() as client:
            assert values(client, "t") == [b"before", b"written", b"after"]


def test_a_topic_that_could_not_begin_does_so_later(node: NodeThread) -> None:
    with node.connect() as client:
        node.disk.fail("make_dirs", "/data/new-0", error=errno.ENOSPC)
        client.ask(ApiKey.CREATE_TOPICS, new_topic("new"))
        answer = produce(client, "new", batch(b"v"))
        assert E(answer.error_code) is E.KAFKA_STORAGE_ERROR
        node.disk.heal()
        wait_until(lambda: produce(client, "new", batch(b"v")).error_code == E.NONE, "it has begun")
        assert values(client, "new") == [b"v"]


def test_a_log_that_room_does_not_bring_back_is_told_once(broker_log: Lines) -> None:
    with NodeThread(durability="os") as node, node.connect() as client:
        create_topic(client, "t")
        assert produce(client, "t", batch(b"kept")).error_code == E.NONE
        [segment] = [name for name in node.disk.names("/data/t-0") if name.endswith(".log")]
        file = node.disk.open(f"/data/t-0/{segment}")
        kept = file.size()
        assert produce(client, "t", batch(b"lost")).error_code == E.NONE
        fill(node)
        assert produce(client, "t", batch(bytes(1000))).error_code == E.KAFKA_STORAGE_ERROR
        file.truncate(kept)
        file.close()
        node.disk.heal()
        wait_until(lambda: logged(broker_log), "it is looked at")
        time.sleep(2.5 * LOOK_SECONDS)
        assert logged(broker_log) == 1
        assert produce(client, "t", batch(b"v")).error_code == E.KAFKA_STORAGE_ERROR


RESERVE_BYTES = 1 << 20


def leave(node: NodeThread, free_bytes: int) -> None:
    total, free = node.disk.free_bytes("/data")
    node.disk.capacity_bytes = total - free + free_bytes


def test_below_the_reserve_only_the_broker_itself_writes(broker_log: Lines) -> None:
    with (
        NodeThread(offsets_topic_num_partitions=1, log_dirs_min_free_bytes=RESERVE_BYTES) as node,
        node.connect() as client,
    ):
        create_topic(client, "t")
        transactor = Transactor(client)
        assert transactor.init() == "NONE"
        transactor.add(("t", 0))
        assert transactor.produce("t") == "NONE"
        assert produce(client, "t", batch(b"before")).error_code == E.NONE
        client.ask(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(key="g"), 3)
        wait_until(lambda: commit(client, 1) == E.NONE, "the coordinator serves")

        leave(node, RESERVE_BYTES // 2)
        wait_until(lambda: produce(client, "t", batch(b"x")).error_code != E.NONE, "records are refused")
        answer = produce(client, "t", batch(b"refused"))
        assert E(answer.error_code) is E.KAFKA_STORAGE_ERROR
        assert "log.dirs.min.free.bytes reserves 1 MiB" in (answer.error_message or "")
        assert commit(client, 2) == E.NONE
        assert transactor.end() == "NONE", "its markers are written"
        create_topic(client, "new")
        client.ask(ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topic_names=["new"]), 3)
        assert E(produce(client, "t", batch(b"refused")).error_code) is E.KAFKA_STORAGE_ERROR

        leave(node, 2 * RESERVE_BYTES)
        wait_until(lambda: produce(client, "t", batch(b"after")).error_code == E.NONE, "t takes records")
        assert b"refused" not in values(client, "t")
        assert b"after" in values(client, "t")
    assert sum("clients' records are refused" in line for line in broker_log.text) == 1
    assert sum("clients' records are accepted again" in line for line in broker_log.text) == 1


def logged(broker_log: Lines) -> int:
    return sum("t-0 stays offline" in line for line in broker_log.text)

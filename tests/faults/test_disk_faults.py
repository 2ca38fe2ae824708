"""A disk that is full or broken, under a whole broker: one log stops and says why, the others go on.

After repair and restart everything that was acknowledged is there once, whatever became of the rest.
"""

import errno
from collections.abc import Iterator

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import batch, create_topic, offset_at, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E, codes_of, delete_records, list_offsets, new_topic
from tests.faults.raw_client import Closed, RawClient, wait_until
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceResponse

pytestmark = pytest.mark.usefixtures("no_failures")

ERRORS = [errno.ENOSPC, errno.EIO]
T0_LOG = "/data/t-0/00000000000000000000.log"


@pytest.fixture(params=["fsync", "os"])
def node(request: pytest.FixtureRequest) -> Iterator[NodeThread]:
    with NodeThread(durability=request.param) as running:
        with running.connect() as client:
            create_topic(client, "t", 2, segment_bytes="16384")
            create_topic(client, "other")
            for index in (0, 1):
                assert produce(client, "t", batch(b"before"), index=index).error_code == E.NONE
        yield running


def refused_by_the_disk(answer: PartitionProduceResponse, why: int) -> None:
    assert E(answer.error_code) is E.KAFKA_STORAGE_ERROR
    assert answer.base_offset == -1
    text = {errno.ENOSPC: "No space left", errno.EIO: "Input/output error"}[why]
    assert text in (answer.error_message or "")


def the_others_go_on(client: RawClient) -> None:
    assert produce(client, "t", batch(b"alive"), index=1).error_code == E.NONE
    assert produce(client, "other", batch(b"alive")).error_code == E.NONE
    assert read_all(client, "t", 1)[-1].value == b"alive"


def values(client: RawClient, topic: str, index: int = 0) -> list[bytes | None]:
    return [record.value for record in read_all(client, topic, index)]


@pytest.mark.parametrize("why", ERRORS)
def test_an_append_that_fails(node: NodeThread, why: int) -> None:
    with node.connect() as client:
        node.disk.fail("write", T0_LOG, error=why)
        refused_by_the_disk(produce(client, "t", batch(b"lost")), why)
        assert values(client, "t") == [b"before"], "what is there can be read"
        if why == errno.EIO:
            node.disk.heal()  # but the log stays offline until somebody has looked at the disk
        refused_by_the_disk(produce(client, "t", batch(b"lost too")), why)
        the_others_go_on(client)
    node.stop()
    node.disk.heal()
    node.start()
    with node.connect() as client:
        assert values(client, "t") == [b"before"]
        assert produce(client, "t", batch(b"after")).base_offset == 1
        assert values(client, "t", 1) == [b"before", b"alive"]


def test_an_append_that_fits_only_in_part(node: NodeThread) -> None:
    """A full disk writes what fits; the torn batch must not be there afterwards."""
    with node.connect() as client:
        _, free = node.disk.free_bytes("/data")
        node.disk.capacity_bytes = (1 << 40) - free + 300
        refused_by_the_disk(produce(client, "t", batch(bytes(1000))), errno.ENOSPC)
        node.disk.heal()
        the_others_go_on(client)
    node.power_cut()
    node.start()
    with node.connect() as client:
        assert values(client, "t") in ([b"before"], [])
        if node.node.config.text("durability") == "fsync":
            assert values(client, "t") == [b"before"]


@pytest.mark.parametrize("why", ERRORS)
def test_a_sync_that_fails(why: int) -> None:
    with NodeThread(durability="fsync") as node:
        with node.connect() as client:
            create_topic(client, "t", 2)
            create_topic(client, "other")
            assert produce(client, "t", batch(b"before")).error_code == E.NONE
            node.disk.fail("sync", "/data/t-0/", error=why)
            refused_by_the_disk(produce(client, "t", batch(b"nobody knows")), why)
            if why == errno.EIO:
                node.disk.heal()
            refused_by_the_disk(produce(client, "t", batch(b"lost")), why)
            assert values(client, "t") == [b"before"], "what is not safe must not be seen"
            the_others_go_on(client)
        node.power_cut()
        node.start()
        with node.connect() as client:
            assert values(client, "t") in ([b"before"], [b"before", b"nobody knows"])
            assert values(client, "t", 1) == [b"alive"]
            assert values(client, "other") == [b"alive"]


@pytest.mark.parametrize("why", ERRORS)
@pytest.mark.parametrize("operation", ["create", "write", "sync_dir", "truncate"])
def test_a_roll_that_fails(node: NodeThread, why: int, operation: str) -> None:
    """Segments of 16 KiB: the twentieth batch of a KiB needs a new one."""
    with node.connect() as client:
        node.disk.fail(operation, "/data/t-0", number=1 if operation != "write" else 18, error=why)
        acknowledged = [b"before"]
        for number in range(40):
            value = b"%d" % number + bytes(1000)
            answer = produce(client, "t", batch(value))
            if answer.error_code != E.NONE:
                refused_by_the_disk(answer, why)
                break
            acknowledged.append(value)
        node.disk.heal()
        the_others_go_on(client)
    node.stop()
    node.start()
    with node.connect() as client:
        found = values(client, "t")
        assert found[: len(acknowledged)] == acknowledged
        assert len(found) <= len(acknowledged) + 1
        assert produce(client, "t", batch(b"after")).base_offset == len(found)


@pytest.mark.parametrize("why", ERRORS)
@pytest.mark.parametrize("operation", ["make_dirs", "create", "write"])
def test_a_topic_whose_directory_cannot_be_made(node: NodeThread, operation: str, why: int) -> None:
    with node.connect() as client:
        node.disk.fail(operation, "/data/new-0", error=why)
        client.ask(ApiKey.CREATE_TOPICS, new_topic("new"))
        answer = produce(client, "new", batch(b"v"))
        assert answer.error_code in (E.KAFKA_STORAGE_ERROR, E.UNKNOWN_TOPIC_OR_PARTITION)
        node.disk.heal()
        the_others_go_on(client)
        create_topic(client, "next")
        assert produce(client, "next", batch(b"v")).error_code == E.NONE
    node.stop()
    node.start()
    with node.connect() as client:
        assert produce(client, "new", batch(b"v")).base_offset == 0
        assert values(client, "next") == [b"v"]


@pytest.mark.parametrize("why", ERRORS)
@pytest.mark.parametrize("operation", ["write", "sync"])
def test_metadata_that_cannot_be_written(
    node: NodeThread, why: int, operation: str, broker_log: Lines
) -> None:
    """Nothing can be changed any more, and each request is told so; what exists goes on."""
    with node.connect() as client:
        node.disk.fail(operation, "__cluster_metadata", error=why)
        [made] = client.ask(ApiKey.CREATE_TOPICS, new_topic("new")).topics
        assert E(made.error_code) is E.KAFKA_STORAGE_ERROR
        assert made.error_message
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
        assert codes_of(client.ask(ApiKey.DELETE_TOPICS, doomed)) == [E.KAFKA_STORAGE_ERROR]
        given = client.ask(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest())
        assert given.error_code != E.NONE or given.producer_id >= 0
        named = MetadataRequest(topics=[MetadataRequestTopic(name="auto")])
        assert codes_of(client.ask(ApiKey.METADATA, named))
        the_others_go_on(client)
        assert produce(client, "t", batch(b"still")).error_code == E.NONE
    assert any("metadata" in line for line in broker_log.text)
    node.power_cut()
    node.start()
    with node.connect() as client:
        if node.node.config.text("durability") == "fsync":
            assert values(client, "t") == [b"before", b"still"]
        create_topic(client, "really-new")


@pytest.mark.parametrize("why", ERRORS)
def test_a_checkpoint_that_cannot_be_written(node: NodeThread, why: int) -> None:
    """Records that could come back after a restart are not reported as deleted."""
    with node.connect() as client:
        node.disk.fail("*", "offset-checkpoint", error=why)
        codes = codes_of(client.ask(ApiKey.DELETE_RECORDS, delete_records("t", 0, 1)))
        assert codes == [E.KAFKA_STORAGE_ERROR]
        the_others_go_on(client)
        node.disk.heal()
        assert codes_of(client.ask(ApiKey.DELETE_RECORDS, delete_records("t", 0, 1))) == [E.NONE]
    node.power_cut()
    node.start()
    with node.connect() as client:
        # Under `os` the crash may have taken the records themselves, too.
        assert offset_at(client, "t", -2) == min(1, offset_at(client, "t"))


def test_what_cannot_be_read(node: NodeThread) -> None:
    with node.connect() as client:
        node.disk.fail("read", "/data/t-0/")
        answer = client.ask(ApiKey.LIST_OFFSETS, list_offsets("t", 0, timestamp=1))
        assert codes_of(answer) in ([E.KAFKA_STORAGE_ERROR], [E.NONE])
        answer = client.ask(ApiKey.LIST_OFFSETS, list_offsets("t", 0, timestamp=-3))
        assert codes_of(answer) in ([E.KAFKA_STORAGE_ERROR], [E.NONE])
        try:
            read_all(client, "t")
        except (Closed, AssertionError):
            pass
        else:
            pytest.fail("records came from a disk that cannot be read")
    with node.connect() as client:
        the_others_go_on(client)
        node.disk.heal()
        assert values(client, "t") == [b"before"]


@pytest.mark.parametrize("operation", ["rename", "remove"])
def test_a_topic_whose_directory_cannot_be_removed(node: NodeThread, operation: str) -> None:
    with node.connect() as client:
        node.disk.fail(operation, "/data/t-0")
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
        assert codes_of(client.ask(ApiKey.DELETE_TOPICS, doomed)) == [E.NONE]
        node.disk.heal()
        create_topic(client, "t")  # of the same name, where the old directory may still be
        assert produce(client, "t", batch(b"anew")).base_offset == 0
        assert values(client, "t") == [b"anew"]
    node.stop()
    node.start()
    with node.connect() as client:
        assert values(client, "t") == [b"anew"]


def test_stopping_on_a_dead_disk(node: NodeThread) -> None:
    """It ends, lets go of the log dir, and the next start finds what was safe."""
    with node.connect() as client:
        assert produce(client, "t", batch(b"last")).error_code == E.NONE
    node.disk.fail("*")
    node.stop()
    node.disk.heal()
    node.start()
    with node.connect() as client:
        assert values(client, "t") == [b"before", b"last"]


def test_housekeeping_on_a_broken_disk(broker_log: Lines) -> None:
    """Chores that fail are reported, again and again, and nothing else stops."""
    settings = {
        "log.flush.offset.checkpoint.interval.ms": 20,
        "log.retention.check.interval.ms": 20,
        "durability": "os",
    }
    with NodeThread(**settings) as node, node.connect() as client:
        create_topic(client, "t", segment_bytes="1024", retention_bytes="1")
        create_topic(client, "other")
        node.disk.fail("*", "offset-checkpoint")
        wait_until(lambda: sum("checkpoint" in line for line in broker_log.text) > 1, "complaints")
        node.disk.fail("rename", "/data/t-0/00000000000000000000.")  # the first segment's files
        for _ in range(4):
            if produce(client, "t", batch(bytes(600))).error_code != E.NONE:
                break
        wait_until(lambda: any("retention failed" in line for line in broker_log.text), "a complaint")
        assert produce(client, "other", batch(b"v")).error_code == E.NONE
        node.disk.heal()

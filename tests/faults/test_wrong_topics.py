"""Topics under illegal names, names that collide, and names and ids that nobody has."""

import pytest

from tests.faults.log_calls import (
    BY_NAME,
    batch,
    create_topic,
    fetch_request,
    offset_at,
    produce,
    produce_request,
)
from tests.faults.odd_requests import (
    MAX32,
    MIN32,
    TOPIC,
    UNKNOWN_ID,
    E,
    alter,
    change,
    codes_of,
    delete_records,
    describe,
    epoch_end,
    grow,
    list_offsets,
    move,
    new_topic,
)
from tests.faults.raw_client import RawClient
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.alter_configs import AlterConfigsRequest
from tidelog.wire.messages.create_topics import (
    CreateTopicsRequest,
)
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest
from tidelog.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tidelog.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(scope="module")
def topic_id(broker: Broker) -> bytes:
    with RawClient(broker.port) as client:
        made = create_topic(client, TOPIC, 2)
        assert produce(client, TOPIC, batch(b"a", b"b", b"c")).error_code == E.NONE
        return made


NO_SUCH = {E.UNKNOWN_TOPIC_OR_PARTITION}


def of_name(name: str, index: int) -> dict[str, tuple[ApiKey, Message, int | None]]:
    """A request of every API that takes a topic's name, in a version that does."""
    return {
        "produce": (ApiKey.PRODUCE, produce_request(name, batch(b"v"), index=index), BY_NAME),
        "fetch": (ApiKey.FETCH, fetch_request(name, index=index), BY_NAME),
        "list offsets": (ApiKey.LIST_OFFSETS, list_offsets(name, index), None),
        "delete records": (ApiKey.DELETE_RECORDS, delete_records(name, index, 0), None),
        "epoch": (ApiKey.OFFSET_FOR_LEADER_EPOCH, epoch_end(name, index), None),
    }


BAD_NAMES = ["", ".", "..", "a/b", "../../etc/passwd", "x" * 300, "x" * 250, "ümlaut", "a b", "a\0b", "a\nb"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=range(len(BAD_NAMES)))
def test_illegal_names(client: RawClient, name: str) -> None:
    illegal = {E.INVALID_TOPIC_EXCEPTION}
    assert set(codes_of(client.ask(ApiKey.CREATE_TOPICS, new_topic(name)))) == illegal
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    assert set(codes_of(client.ask(ApiKey.METADATA, asked))) == illegal
    for api in (
        describe(2, name),
        alter(2, name, retention_ms="1"),
        change(2, name, ("retention.ms", 0, "1")),
    ):
        assert set(codes_of(client.ask(_key_of(api), api))) <= illegal | NO_SUCH | {E.INVALID_REQUEST}
    for key, request, version in of_name(name, 0).values():
        assert set(codes_of(client.ask(key, request, version))) <= illegal | NO_SUCH
    assert set(codes_of(client.ask(ApiKey.CREATE_PARTITIONS, grow(name, 5)))) <= illegal | NO_SUCH
    doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
    assert set(codes_of(client.ask(ApiKey.DELETE_TOPICS, doomed))) <= illegal | NO_SUCH
    shown = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name)])
    assert set(codes_of(client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, shown))) <= illegal | NO_SUCH
    described = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=[0])])
    [log_dir] = client.ask(ApiKey.DESCRIBE_LOG_DIRS, described).results
    assert log_dir.topics == []
    moved = client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, move(log_dir.log_dir, name, 0))
    assert set(codes_of(moved)) <= illegal | NO_SUCH


def _key_of(request: Message) -> ApiKey:
    return {
        DescribeConfigsRequest: ApiKey.DESCRIBE_CONFIGS,
        AlterConfigsRequest: ApiKey.ALTER_CONFIGS,
        IncrementalAlterConfigsRequest: ApiKey.INCREMENTAL_ALTER_CONFIGS,
    }[type(request)]


def test_names_that_collide_in_metrics(client: RawClient) -> None:
    create_topic(client, "one.two_three")
    for name in ("one_two.three", "one.two.three", "one_two_three"):
        assert codes_of(client.ask(ApiKey.CREATE_TOPICS, new_topic(name))) == [E.INVALID_TOPIC_EXCEPTION]
    both = CreateTopicsRequest(topics=[*new_topic("p.q").topics, *new_topic("p_q").topics])
    codes = [topic.error_code for topic in client.ask(ApiKey.CREATE_TOPICS, both).topics]
    assert sorted(codes) == [E.NONE, E.INVALID_TOPIC_EXCEPTION]


@pytest.mark.usefixtures("topic_id")
@pytest.mark.parametrize(
    ("name", "index"), [("unknown", 0), (TOPIC, 2), (TOPIC, -1), (TOPIC, MAX32), (TOPIC, MIN32)]
)
def test_unknown_topics_and_partitions(client: RawClient, name: str, index: int) -> None:
    for what, (key, request, version) in of_name(name, index).items():
        assert codes_of(client.ask(key, request, version)) == [E.UNKNOWN_TOPIC_OR_PARTITION], what


@pytest.mark.parametrize("unknown", [UNKNOWN_ID, bytes(16)])
def test_unknown_topic_ids(client: RawClient, unknown: bytes) -> None:
    wanted = {E.UNKNOWN_TOPIC_ID}
    data = PartitionProduceData(index=0, records=batch(b"v"))
    topic = TopicProduceData(topic_id=unknown, partition_data=[data])
    produced = client.ask(ApiKey.PRODUCE, ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]))
    assert set(codes_of(produced)) == wanted
    asked = FetchTopic(topic_id=unknown, partitions=[FetchPartition(partition=0, partition_max_bytes=100)])
    assert set(codes_of(client.ask(ApiKey.FETCH, FetchRequest(max_bytes=100, topics=[asked])))) == wanted
    named = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=unknown)])
    assert set(codes_of(client.ask(ApiKey.METADATA, named))) <= wanted | {E.INVALID_REQUEST}
    doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=unknown)])
    assert set(codes_of(client.ask(ApiKey.DELETE_TOPICS, doomed))) <= wanted | {E.INVALID_REQUEST}


def test_a_topic_that_is_named_and_numbered(client: RawClient, topic_id: bytes) -> None:
    """A name and an id at once are either an error or mean the same topic; nothing is deleted by chance."""
    doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC, topic_id=UNKNOWN_ID)])
    assert set(codes_of(client.ask(ApiKey.DELETE_TOPICS, doomed))) <= {E.INVALID_REQUEST, E.UNKNOWN_TOPIC_ID}
    assert offset_at(client, TOPIC) == 3

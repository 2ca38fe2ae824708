"""Each client creates, lists, describes, grows and deletes topics, and reads about the cluster."""

from typing import Any

import pytest

from tests.interop.driver import EARLIEST, LATEST, Code, Record, Refused, contents
from tests.interop.waiting import eventually


@pytest.mark.needs("create_topic", "list_topics", "describe_topic", "delete_topic")
def test_a_topic_from_creation_to_deletion(client: Any, reference: Any, topic_name: str) -> None:
    client.create_topic(topic_name, partitions=3)
    eventually(lambda: len(client.describe_topic(topic_name)) == 3)
    assert topic_name in client.list_topics()
    [broker] = client.describe_cluster().brokers
    for partition in range(3):
        info = client.describe_topic(topic_name)[partition]
        assert (info.leader, list(info.replicas), list(info.isr)) == (broker, [broker], [broker])
    client.delete_topic(topic_name)
    eventually(lambda: topic_name not in client.list_topics())
    with pytest.raises(Refused) as refusal:
        reference.describe_topic(topic_name)
    assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.needs("create_topic")
def test_validating_creates_nothing(client: Any, topic_name: str) -> None:
    client.create_topic(topic_name, validate_only=True)
    assert topic_name not in client.list_topics()
    with pytest.raises(Refused) as refusal:
        client.create_topic(topic_name, replication_factor=7, validate_only=True)
    assert refusal.value.code == Code.INVALID_REPLICATION_FACTOR


@pytest.mark.needs("create_topic", "can_leave_counts_out")
def test_the_brokers_defaults_fill_what_is_left_out(client: Any, reference: Any, topic_name: str) -> None:
    client.create_topic(topic_name, partitions=-1, replication_factor=-1)
    eventually(lambda: len(reference.describe_topic(topic_name)) == 1)
    reference.delete_topic(topic_name)


@pytest.mark.needs("create_topic")
def test_creating_a_topic_twice(client: Any, topic: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(topic)
    assert refusal.value.code == Code.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("name", ["has space", "..", "slash/ed", "ü", "x" * 250])
@pytest.mark.needs("create_topic")
def test_names_that_are_not_allowed(client: Any, name: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(name)
    assert refusal.value.code == Code.INVALID_TOPIC_EXCEPTION


@pytest.mark.needs("create_topic")
def test_names_that_would_collide(client: Any, make_topic: Any) -> None:
    # Metrics write a dot and an underscore alike, so Kafka lets only one of such a pair exist.
    name = make_topic()
    dotted, underscored = name + ".a", name + "_a"
    client.create_topic(dotted)
    eventually(lambda: dotted in client.list_topics())
    try:
        with pytest.raises(Refused) as refusal:
            client.create_topic(underscored)
        assert refusal.value.code == Code.INVALID_TOPIC_EXCEPTION
    finally:
        client.delete_topic(dotted)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"replication_factor": 5}, Code.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 0}, Code.INVALID_REPLICATION_FACTOR),
        ({"partitions": 0}, Code.INVALID_PARTITIONS),
        ({"configs": {"no.such.setting": "1"}}, Code.INVALID_CONFIG),
        ({"configs": {"retention.ms": "soon"}}, Code.INVALID_CONFIG),
        ({"configs": {"cleanup.policy": "burn"}}, Code.INVALID_CONFIG),
    ],
    ids=str,
)
@pytest.mark.needs("create_topic")
def test_topics_that_cannot_be(client: Any, topic_name: str, arguments: dict[str, Any], code: Code) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(topic_name, **arguments)
    assert refusal.value.code == code
    assert topic_name not in client.list_topics()


@pytest.mark.needs("delete_topic")
def test_deleting_an_unknown_topic(client: Any, topic_name: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.delete_topic(topic_name)
    assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.needs("describe_topic")
def test_describing_an_unknown_topic_does_not_create_it(client: Any, reference: Any, topic_name: str) -> None:
    if client.name == "aiokafka":
        pytest.xfail("its admin client always asks the broker to create what it describes")
    with pytest.raises(Refused) as refusal:
        client.describe_topic(topic_name)
    assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert topic_name not in reference.list_topics()


@pytest.mark.needs("delete_topic", "takes_many")
def test_a_topic_created_again_is_empty(client: Any, reference: Any, make_topic: Any) -> None:
    topic = make_topic()
    client.produce(topic, [Record(b"k", b"first life")] * 5)
    client.delete_topic(topic)
    eventually(lambda: topic not in reference.list_topics())
    client.create_topic(topic)
    eventually(lambda: len(reference.describe_topic(topic)) == 1)
    client.produce(topic, [Record(b"k", b"second life")])
    assert contents(reference.consume(topic, 0, 1)) == [(b"k", b"second life", ())]
    assert reference.find_offset(topic, LATEST) == 1


@pytest.mark.needs("add_partitions")
def test_adding_partitions(client: Any, reference: Any, make_topic: Any) -> None:
    topic = make_topic(partitions=2)
    client.add_partitions(topic, 5)
    eventually(lambda: len(reference.describe_topic(topic)) == 5)
    reference.produce(topic, [Record(b"k", b"in the new one", partition=4)])
    assert contents(reference.consume(topic, 0, 1, [4])) == [(b"k", b"in the new one", ())]


@pytest.mark.parametrize("total", [1, 2])
@pytest.mark.needs("add_partitions")
def test_partitions_never_become_fewer(client: Any, make_topic: Any, total: int) -> None:
    topic = make_topic(partitions=2)
    with pytest.raises(Refused) as refusal:
        client.add_partitions(topic, total)
    assert refusal.value.code == Code.INVALID_PARTITIONS


@pytest.mark.needs("delete_records")
def test_deleting_records_moves_the_start(client: Any, reference: Any, topic: str) -> None:
    reference.produce(topic, [Record(b"k", b"%d" % number) for number in range(10)])
    assert client.delete_records(topic, 4) == 4
    assert reference.find_offset(topic, EARLIEST) == 4
    assert [record.value for record in reference.consume(topic, EARLIEST, 6)] == [
        b"%d" % n for n in range(4, 10)
    ]
    with pytest.raises(Refused) as refusal:
        reference.consume(topic, 3, 1)
    assert refusal.value.code == Code.OFFSET_OUT_OF_RANGE
    assert client.delete_records(topic, -1) == 10, "-1 means all there is"
    with pytest.raises(Refused) as refusal:
        client.delete_records(topic, 11)
    assert refusal.value.code == Code.OFFSET_OUT_OF_RANGE


@pytest.mark.needs("describe_cluster")
def test_the_cluster(client: Any, broker_address: str) -> None:
    cluster = client.describe_cluster()
    [(broker, address)] = cluster.brokers.items()
    assert address.rpartition(":")[2] == broker_address.rpartition(":")[2]
    assert cluster.controller == broker
    assert cluster.cluster_id is None or len(cluster.cluster_id) > 10


@pytest.mark.needs("log_sizes")
def test_the_log_directories_know_the_size_of_a_partition(
    client: Any, reference: Any, make_topic: Any
) -> None:
    topic = make_topic(partitions=2)
    reference.produce(topic, [Record(b"k", bytes(10_000), partition=1)])
    sizes = client.log_sizes(topic)
    assert sizes[0] == 0
    assert 10_000 < sizes[1] < 10_200


@pytest.mark.needs("describe_topic_by_pages")
def test_describing_partitions_page_by_page(client: Any, make_topic: Any) -> None:
    topic = make_topic(partitions=3)
    assert sorted(client.describe_topic_by_pages(topic)) == [0, 1, 2]

"""What clients can do only on a cluster: read in their rack, ask for replicas, find one broker by another."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.interop.cluster_under_test import RACKS, ClusterUnderTest
from tests.interop.driver import Code, ConfigChange, Record, Refused
from tests.interop.waiting import eventually

PlaceTopic = Callable[..., str]
NOWHERE = "127.0.0.1:1"
RECORD_BYTES = 50_000
RECORDS = 40


@pytest.fixture
def client(request: pytest.FixtureRequest, connect: Callable[[str], Any]) -> Any:
    return connect(request.param)


@pytest.fixture
def written(place_topic: PlaceTopic, reference: Any) -> str:
    """A partition that broker 1 leads and all have."""
    topic = place_topic([1, 2, 3])
    reference.produce(topic, [Record(None, bytes(RECORD_BYTES)) for _ in range(RECORDS)])
    return topic


def librdkafka_bytes_by_broker(cluster: ClusterUnderTest, rack: str, topic: str) -> dict[int, int]:
    told: list[dict[str, Any]] = []
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "client.rack": rack,
            "fetch.message.max.bytes": 100_000,
            "queued.max.messages.kbytes": 200,  # it reads as we do, not all at once from whom it asks first
            "statistics.interval.ms": 100,
            "stats_cb": lambda text: told.append(json.loads(text)),
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    read, deadline = 0, time.monotonic() + 30
    while read < RECORDS and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        read += message is not None and message.error() is None
    seen = len(told)
    while len(told) == seen:
        consumer.poll(0.05)
    consumer.close()
    assert read == RECORDS
    return {
        broker["nodeid"]: broker["rxbytes"] for broker in told[-1]["brokers"].values() if broker["nodeid"] > 0
    }


@pytest.mark.parametrize("rack", ["b", "c"])
@pytest.mark.parametrize("reader", ["java", "librdkafka"])
def test_a_consumer_reads_from_the_replica_in_its_rack(
    java: Any, cluster: ClusterUnderTest, written: str, reader: str, rack: str
) -> None:
    if reader == "java":
        came = java.bytes_by_broker(rack, written, RECORDS)
    else:
        came = librdkafka_bytes_by_broker(cluster, rack, written)
    [near] = [id for id, name in RACKS.items() if name == rack]
    whole = RECORDS * RECORD_BYTES
    assert came[near] > 0.8 * whole, came
    assert sum(came.values()) - came[near] < 0.3 * whole, came


def test_a_consumer_in_no_rack_of_ours_reads_from_the_leader(java: Any, written: str) -> None:
    came = java.bytes_by_broker("elsewhere", written, RECORDS)
    assert came[1] > RECORDS * RECORD_BYTES


@pytest.mark.needs("describe_cluster")
def test_the_cluster_is_described(client: Any, reference: Any, cluster: ClusterUnderTest) -> None:
    found = client.describe_cluster()
    assert sorted(found.brokers) == [1, 2, 3]
    assert {address.split(":")[1] for address in found.brokers.values()} == {
        cluster.address(id).split(":")[1] for id in RACKS
    }
    assert found.controller in found.brokers
    if found.cluster_id is not None:
        assert found.cluster_id == reference.describe_cluster().cluster_id


@pytest.mark.needs("create_topic", "describe_topic")
def test_topics_have_as_many_replicas_as_asked_for(client: Any, reference: Any, topic_name: str) -> None:
    client.create_topic(topic_name, 3, replication_factor=2)
    eventually(lambda: len(client.describe_topic(topic_name)) == 3)
    parts = client.describe_topic(topic_name).values()
    assert all(len(set(part.replicas)) == 2 == len(part.isr) for part in parts)
    assert {part.leader for part in parts} == {1, 2, 3}
    with pytest.raises(Refused) as refused:
        client.create_topic(f"{topic_name}-x", 1, replication_factor=4)
    assert refused.value.code == Code.INVALID_REPLICATION_FACTOR
    reference.delete_topic(topic_name)


def test_large_records_are_replicated(
    connect: Callable[[str], Any], java: Any, place_topic: PlaceTopic
) -> None:
    """Larger than what a follower asks for at a time, from each client, with the word of all replicas."""
    names = ["confluent", "aiokafka", "kafka-python", "kcat", "java", "kafkajs", "franz-go"]
    topic = place_topic([1, 2, 3], [2, 3, 1], [3, 1, 2])
    java.alter_configs("topic", topic, [ConfigChange("set", "max.message.bytes", "6000000")])
    eventually(lambda: java.describe_configs("topic", topic)["max.message.bytes"].value == "6000000")
    for number, name in enumerate(names):
        value = bytes([number]) * 3_000_000
        connect(name).produce(topic, [Record(None, value, partition=number % 3)], acks="all")
    for partition in range(3):
        expected = [bytes([number]) * 3_000_000 for number in range(partition, len(names), 3)]
        for name in ("java", "confluent", "franz-go"):
            records = connect(name).consume(topic, 0, len(expected), [partition])
            assert [record.value for record in records] == expected, name
    assert all(part.isr for part in java.describe_topic(topic).values())


def test_one_live_broker_among_dead_ones_is_enough_to_begin(
    cluster: ClusterUnderTest, java: Any, place_topic: PlaceTopic
) -> None:
    topic = place_topic([1, 2, 3])
    servers = f"{NOWHERE},{cluster.address(2)}"
    assert java.produce(topic, [Record(None, b"java")], settings={"bootstrap.servers": servers}) == [0]
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    producer.produce(topic, b"librdkafka")
    assert producer.flush(30) == 0
    assert [record.value for record in java.consume(topic, 0, 2)] == [b"java", b"librdkafka"]


@pytest.fixture
def only_two(cluster: ClusterUnderTest, java: Any, place_topic: PlaceTopic) -> Iterator[str]:
    """A topic that wants three replicas in sync while one broker is dead."""
    topic = place_topic([1, 2, 3])
    java.alter_configs("topic", topic, [ConfigChange("set", "min.insync.replicas", "3")])
    java.produce(topic, [Record(None, b"all three have it")])
    cluster.kill(3)
    eventually(lambda: sorted(java.describe_topic(topic)[0].isr) == [1, 2], 40)
    yield topic
    cluster.start_broker(3)
    eventually(lambda: sorted(java.describe_topic(topic)[0].isr) == [1, 2, 3], 60)
    assert java.produce(topic, [Record(None, b"all three again")]) == [2]


def test_too_few_replicas_in_sync(only_two: str, cluster: ClusterUnderTest, java: Any) -> None:
    with pytest.raises(Refused) as refused:
        java.produce(only_two, [Record(None, b"no")], settings={"retries": "0"})
    assert refused.value.code == Code.NOT_ENOUGH_REPLICAS
    failures: list[KafkaError] = []
    settings = {"bootstrap.servers": cluster.bootstrap, "retries": 0, "log_level": 0}
    producer = Producer(settings)
    producer.produce(only_two, b"no", on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(30) == 0
    assert [failure.code() for failure in failures] == [Code.NOT_ENOUGH_REPLICAS]
    # Who asks for the leader's word alone gets it, but nobody reads it before the others have it.
    assert java.produce(only_two, [Record(None, b"one")], acks="1") == [1]
    assert java.find_offset(only_two, -1) in (1, 2)


def test_replicas_are_placed_as_asked_or_not_at_all(java: Any, topic_name: str) -> None:
    java.create_assigned(topic_name, [[2, 3]])
    for wrong in ([[1, 1]], [[1, 9]], [[]], [[1], [1, 2]]):
        with pytest.raises(Refused) as refused:
            java.create_assigned(f"{topic_name}-x", wrong)
        assert refused.value.code == Code.INVALID_REPLICA_ASSIGNMENT, wrong
    eventually(lambda: java.describe_topic(topic_name)[0].replicas == [2, 3])
    java.add_assigned(topic_name, 3, [[3, 1], [1, 2]])
    eventually(lambda: len(java.describe_topic(topic_name)) == 3)
    assert [part.replicas for part in java.describe_topic(topic_name).values()] == [[2, 3], [3, 1], [1, 2]]
    for wrong in ([[1, 1]], [[1, 9]], [[1]], [[1, 2], [2, 3]]):
        with pytest.raises(Refused) as refused:
            java.add_assigned(topic_name, 4, wrong)
        assert refused.value.code == Code.INVALID_REPLICA_ASSIGNMENT, wrong
    java.delete_topic(topic_name)


def test_the_quorum_and_the_features_are_described(java: Any, cluster: ClusterUnderTest) -> None:
    quorum = java.describe_quorum()
    assert sorted(quorum.voters) == [1, 2, 3]
    assert quorum.leader in quorum.voters
    assert quorum.high_watermark > 0
    assert len({voter.directory for voter in quorum.voters.values()}) == 3
    now_ms = time.time() * 1000
    for voter in quorum.voters.values():
        assert voter.log_end >= quorum.high_watermark - 100
        assert now_ms - 60_000 < voter.caught_up_ms <= now_ms + 1000
    for id in RACKS:
        [endpoint] = quorum.endpoints[id]
        assert endpoint.split(":")[1] == cluster.controller_address(id).split(":")[1]
    features = java.describe_features()
    assert features["finalized"]["metadata.version"] == features["supported"]["metadata.version"][1]
    assert features["finalized"]["kraft.version"] == 1
    assert features["finalized"]["group.version"] == 1


def test_leaders_and_replicas_are_moved_by_a_client(java: Any, place_topic: PlaceTopic) -> None:
    topic = place_topic([1, 2], [2, 1])
    java.produce(topic, [Record(None, b"%d" % n, partition=n % 2) for n in range(10)])
    java.reassign({(topic, 0): [3, 2], (topic, 1): [3, 2]})
    eventually(lambda: not java.list_reassignments(), 60)
    assert [part.replicas for part in java.describe_topic(topic).values()] == [[3, 2], [3, 2]]
    eventually(lambda: all(sorted(part.isr) == [2, 3] for part in java.describe_topic(topic).values()))
    elected = java.elect_leaders("PREFERRED", None)
    # Of other tests' topics a preferred leader may still be catching up.
    assert {code for (name, _), code in elected.items() if name == topic} <= {0}
    eventually(lambda: [part.leader for part in java.describe_topic(topic).values()] == [3, 3])
    assert java.elect_leaders("PREFERRED", [(topic, 0), (topic, 9)]) == {
        (topic, 0): Code.ELECTION_NOT_NEEDED,
        (topic, 9): Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    for wrong, code in (
        ({(topic, 0): [1, 1]}, Code.INVALID_REPLICA_ASSIGNMENT),
        ({(topic, 0): [1, 9]}, Code.INVALID_REPLICA_ASSIGNMENT),
        ({(topic, 0): None}, Code.NO_REASSIGNMENT_IN_PROGRESS),
        ({(topic, 9): [1]}, Code.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        with pytest.raises(Refused) as refused:
            java.reassign(wrong)
        assert refused.value.code == code, wrong
    values = [record.value for index in (0, 1) for record in java.consume(topic, 0, 5, [index])]
    assert sorted(values) == [b"%d" % n for n in range(10)]

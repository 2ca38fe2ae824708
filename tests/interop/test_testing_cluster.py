"""A replicated cluster inside a test: brokers die and come back, links are cut and healed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidelog.testing import Cluster

QUIET = {"log_level": 0}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def client(cluster: Cluster, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": cluster.bootstrap_servers, **QUIET, **more}


def create(cluster: Cluster, name: str, partitions: int = 1, replicas: int = 3) -> None:
    admin = AdminClient(client(cluster))  # the answer comes only while it is there
    try:
        admin.create_topics([NewTopic(name, partitions, replicas)])[name].result(20)
    except KafkaException as failure:
        # A controller may go after it did it and before it said so; then the client asks another one.
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def state(cluster: Cluster, topic: str, index: int = 0) -> Any:
    return AdminClient(client(cluster)).list_topics(topic, timeout=10).topics[topic].partitions[index]


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.1)
    return found


def send(cluster: Cluster, topic: str, values: list[bytes], **config: Any) -> dict[bytes, KafkaError | None]:
    """What became of each value."""
    fate: dict[bytes, KafkaError | None] = {}
    producer = Producer(client(cluster, **{"acks": "all", "enable.idempotence": True, **config}))
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, m: fate.update({m.value(): error}))
        producer.poll(0)
    assert producer.flush(60) == 0
    return fate


def read(cluster: Cluster, topic: str, count: int, index: int = 0) -> list[bytes]:
    consumer = Consumer(client(cluster, **{"group.id": "reader", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(topic, index, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + 40
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.close()
    return values


def test_a_leader_dies_and_nothing_acknowledged_is_lost(cluster: Cluster) -> None:
    create(cluster, "t")
    before = [b"before-%d" % n for n in range(50)]
    assert set(send(cluster, "t", before).values()) == {None}
    leader = state(cluster, "t").leader
    cluster.kill(leader)
    after = [b"after-%d" % n for n in range(50)]
    assert set(send(cluster, "t", after).values()) == {None}
    assert read(cluster, "t", 100) == before + after
    cluster.restart(leader)
    until(lambda: len(state(cluster, "t").isrs) == 3)
    others = [id for id in cluster.brokers if id != leader]
    for id in others:  # one after the other: at last the restarted one is alone with what it copied
        cluster.kill(id)
    cluster.restart(others[0])
    assert read(cluster, "t", 100) == before + after


def test_the_controller_dies(cluster: Cluster) -> None:
    create(cluster, "before")
    first = until(lambda: cluster.controller)
    cluster.kill(first)
    second = until(lambda: cluster.controller)
    assert second != first
    create(cluster, "after")  # of three replicas, one of which may be on the broker that is gone
    assert set(send(cluster, "after", [b"x"]).values()) == {None}


def test_a_minority_takes_no_write_that_it_could_lose(cluster: Cluster) -> None:
    """With acks=all it refuses; what it took with acks=1 is gone once it meets the others again."""
    create(cluster, "t")
    assert set(send(cluster, "t", [b"before"]).values()) == {None}
    leader = state(cluster, "t").leader
    others = {id for id in cluster.brokers if id != leader}
    alone = f"127.0.0.1:{cluster.brokers[leader].port}"
    producer = Producer({"bootstrap.servers": alone, "acks": 1, **QUIET})
    doomed: list[KafkaError | None] = []
    producer.produce("t", b"warm", on_delivery=lambda error, _: doomed.append(error))
    producer.flush(20)
    assert set(send(cluster, "t", [b"safe"]).values()) == {None}  # and with it all that came before
    cluster.isolate({leader}, others)
    producer.produce("t", b"doomed", on_delivery=lambda error, _: doomed.append(error))
    producer.flush(20)
    assert doomed == [None, None], "acks=1 asks for the leader's own copy, and gets it"
    fresh = {"bootstrap.servers": ",".join(f"127.0.0.1:{cluster.brokers[id].port}" for id in others)}
    until(lambda: state(cluster, "t").leader not in {leader, -1} or None, 30)
    kept = send(cluster, "t", [b"kept"], **fresh)
    assert set(kept.values()) == {None}
    cluster.heal()
    until(lambda: len(state(cluster, "t").isrs) == 3, 40)
    assert read(cluster, "t", 4) == [b"before", b"warm", b"safe", b"kept"]


def test_too_few_replicas_refuse_acks_all(cluster: Cluster) -> None:
    create(cluster, "t")
    leader = state(cluster, "t").leader
    for id in [id for id in cluster.brokers if id != leader][:1]:
        cluster.kill(id)
    assert set(send(cluster, "t", [b"two are enough"]).values()) == {None}


def test_a_broker_is_stopped_in_order(cluster: Cluster) -> None:
    create(cluster, "t", partitions=6)
    for id in cluster.brokers:
        cluster.stop_broker(id)
        assert set(send(cluster, "t", [b"%d-%d" % (id, n) for n in range(20)]).values()) == {None}
        cluster.brokers[id].start()
        until(lambda: all(len(state(cluster, "t", index).isrs) == 3 for index in range(6)))


def test_a_broker_more(cluster: Cluster) -> None:
    id = cluster.add_broker()
    assert id == 4
    create(cluster, "wide", replicas=4)
    assert sorted(until(lambda: state(cluster, "wide").isrs)) == [1, 2, 3, 4]
    assert set(send(cluster, "wide", [b"x"]).values()) == {None}


@pytest.mark.tidelog({"num.partitions": 2})
def test_the_fixture(tidelog_cluster: Cluster) -> None:
    producer = Producer(client(tidelog_cluster, acks="all"))
    producer.produce("made-by-asking", b"x")
    assert producer.flush(20) == 0
    partition = state(tidelog_cluster, "made-by-asking", 1)
    assert len(partition.replicas) == 3


def test_a_broker_that_is_not_there(cluster: Cluster) -> None:
    """A misspelt id must not make a test pass that cut or killed nobody."""
    for misuse in (
        lambda: cluster.kill(9),
        lambda: cluster.restart(0),
        lambda: cluster.stop_broker(4),
        lambda: cluster.isolate({1}, {9}),
    ):
        with pytest.raises(ValueError, match="its brokers are 1, 2, 3"):
            misuse()


async def in_asyncio() -> str:
    async with Cluster(brokers=1) as cluster:
        return cluster.bootstrap_servers


def test_from_asyncio() -> None:
    assert asyncio.run(in_asyncio()).startswith("127.0.0.1:")

"""A bit flips on the disk of a stopped broker: nothing acknowledged is lost while another replica has it."""

from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.chaos.numbered_records import PATIENCE_S, create, read_all
from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.replica_files import differing_replicas, log_bytes
from tests.chaos.victim import Victim, wait_until
from tidelog.wire.batch import iter_batches

RECORDS = 100
TOPIC = "t"


def write(address: str, numbers: range) -> list[int]:
    """One batch each; where they were acknowledged to be."""
    producer = Producer({"bootstrap.servers": address, "acks": "all", "log_level": 0})
    offsets: list[int] = []
    for number in numbers:
        producer.produce(
            TOPIC,
            b"%09d" % number,
            partition=0,
            on_delivery=lambda error, message: error or offsets.append(message.offset() or 0),
        )
        assert producer.flush(PATIENCE_S) == 0
    return offsets


def flip_in_last_batch(partition_dir: Path) -> None:
    path = max(path for path in partition_dir.glob("*.log") if path.stat().st_size)
    data = bytearray(path.read_bytes())
    *_, (position, header) = iter_batches(bytes(data))
    data[position + header.size - 3] ^= 1
    path.write_bytes(data)


def test_the_last_leader_gets_back_from_the_others_what_a_flipped_bit_took(
    make_cluster: Callable[..., ProcessCluster],
) -> None:
    """Its followers, stopped before it, are out of the in-sync set: it alone could be elected."""
    cluster: ProcessCluster = make_cluster(durability="fsync", min_insync_replicas=1)
    cluster.start()
    cluster.create_topic(TOPIC, 1)
    cluster.until_whole()
    assert write(cluster.bootstrap_servers, range(RECORDS)) == list(range(RECORDS))
    group = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "log_level": 0}
    consumer = Consumer(group)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 77)], asynchronous=False)
    consumer.close()
    cluster.until_whole()
    last = cluster.members[cluster.leader(TOPIC)]
    others = [member for member in cluster.members.values() if member is not last]
    for member in (*others, last):
        assert member.terminate() == 0, member.log_tail()
    before = [log_bytes(member.data / f"{TOPIC}-0") for member in others]
    damaged = [TOPIC, *_coordinated(last.data)]
    for name in damaged:
        flip_in_last_batch(last.data / (f"{TOPIC}-0" if name == TOPIC else name))
    cluster.launch_missing()
    cluster.until_ready()
    cluster.until_whole()
    assert read_all(cluster.bootstrap_servers, TOPIC) == [(number, number) for number in range(RECORDS)]
    consumer = Consumer(group)
    [committed] = consumer.committed([TopicPartition(TOPIC, 0)], timeout=PATIENCE_S)
    consumer.close()
    assert committed.offset == 77
    assert write(cluster.bootstrap_servers, range(RECORDS, RECORDS + 1)) == [RECORDS]
    cluster.until_whole()
    for member in (*others, last):
        assert member.terminate() == 0, member.log_tail()
    for member, was in zip(others, before, strict=True):
        assert log_bytes(member.data / f"{TOPIC}-0").startswith(was), "a good replica was cut"
        assert "below the high watermark" not in member.log_text()
    assert not list(differing_replicas([member.data for member in cluster.members.values()], f"{TOPIC}-0"))
    assert "LOST: " in last.log_text()
    assert f"offsets {RECORDS - 1} to {RECORDS - 1} are back" in last.log_text()
    assert not list(last.data.rglob("lost-range-checkpoint"))


def _coordinated(data: Path) -> list[str]:
    """The logs of coordinators in which something was written."""
    return [
        partition_dir.name
        for partition_dir in data.iterdir()
        if partition_dir.name.startswith("__consumer_offsets-") and log_bytes(partition_dir)
    ]


def test_alone_a_broker_keeps_the_damage_aside_and_gives_no_offset_out_twice(
    victim: Callable[..., Victim],
) -> None:
    broker = victim(durability="fsync")
    broker.start()
    create(broker.address, TOPIC)
    assert write(broker.address, range(RECORDS)) == list(range(RECORDS))
    assert broker.terminate() == 0
    flip_in_last_batch(broker.data / f"{TOPIC}-0")
    broker.start()
    wait_until(lambda: "LOST: " in broker.log_text(), "the loss is told")
    assert write(broker.address, range(RECORDS, RECORDS + 1)) == [RECORDS]
    there = [number for number in range(RECORDS + 1) if number != RECORDS - 1]
    assert read_all(broker.address, TOPIC) == [(number, number) for number in there]
    assert len(list((broker.data / f"{TOPIC}-0").glob("*.log.damaged-*"))) == 1

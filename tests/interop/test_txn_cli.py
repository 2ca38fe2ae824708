"""`tidelog txn` and `tidelog topic producers` on a cluster: what is open, what hangs, and how to end it.

The brokers of this cluster take batches of transactions that nobody began, as older ones do: that is how
transactions come to hang.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import KafkaException, Producer

from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.fleet_process import FleetProcess
from tests.interop.waiting import eventually
from tidelog import Consumer, ConsumerConfig, IsolationLevel, TopicPartition
from tidelog.blocking.connection import Connection
from tidelog.cli.exits import Exit
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

pytestmark = pytest.mark.timeout(180)
PATIENCE_S = 30
STRANGER = 4_000_000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetProcess]:
    unverified = "transaction.partition.verification.enable=false"
    few = "transaction.state.log.num.partitions=6"
    running = FleetProcess(
        tmp_path_factory.mktemp("fleet"), "--brokers", "3", "--port", "0", "--set", unverified, "--set", few
    )
    running.facts  # noqa: B018 - waits until they answer
    yield running
    assert running.stop() == 0, running.said()


@pytest.fixture
def tidelog(
    fleet: FleetProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tidelog:
    def call(*arguments: str, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        return run_here(capsys, monkeypatch, ["-b", fleet.servers, *arguments], stdin, typed)

    return call


@pytest.fixture
def topic(tidelog: Tidelog, fleet: FleetProcess) -> Iterator[str]:
    name = f"txn-{uuid.uuid4().hex[:10]}"
    assert tidelog("topic", "create", name, "-p", "3", "-r", "2").code == Exit.OK
    for server in fleet.servers.split(","):  # each must have heard of it: any of them may be asked next
        eventually(lambda server=server: tidelog("-b", server, "topic", "describe", name).code == Exit.OK)
    yield name
    tidelog("topic", "delete", name, "--yes")


@pytest.fixture
def open_producer(fleet: FleetProcess, topic: str) -> Callable[[str], Producer]:
    """A producer with a record in partitions 0 and 1, in a transaction that is open."""

    def make(name: str) -> Producer:
        producer = Producer({"bootstrap.servers": fleet.servers, "transactional.id": name, "log_level": 0})
        producer.init_transactions(PATIENCE_S)
        begin(producer, topic)
        return producer

    return make


def begin(producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(topic, value="v", partition=partition)
    assert producer.flush(PATIENCE_S) == 0


def write_unasked(tidelog: Tidelog, topic: str, partition: int, producer_id: int, epoch: int) -> None:
    """A batch of a transaction that no coordinator was told of."""
    [described] = tidelog("topic", "describe", topic, "--json").json
    leader = described["partitions"][partition]["leader"]
    [broker] = [each for each in tidelog("cluster", "brokers", "--json").json if each["id"] == leader]
    records = [Record(0, 1_700_000_000_000, None, b"stuck", [])]
    batch = write_batch(
        records, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True
    )
    data = PartitionProduceData(index=partition, records=memoryview(bytes(batch)))
    request = ProduceRequest(
        transactional_id="nobody",
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    with closing(Connection(broker["host"], broker["port"], timeout_s=PATIENCE_S)) as connection:
        answer = connection.call(request, at_most=9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def stable_end(fleet: FleetProcess, topic: str, partition: int) -> int:
    config = ConsumerConfig(bootstrap_servers=fleet.servers, isolation_level=IsolationLevel.READ_COMMITTED)
    with Consumer(config) as consumer:
        return consumer.watermarks(TopicPartition(topic, partition))[1]


def test_from_begin_to_end(tidelog: Tidelog, topic: str, open_producer: Callable[[str], Producer]) -> None:
    name = f"writer-{topic}"
    producer = open_producer(name)
    [listed] = tidelog("txn", "list", "--id", f"{name}.*", "--json").json
    assert (listed["transactional_id"], listed["state"]) == (name, "Ongoing")
    assert tidelog("txn", "list", "--id", name, "--state", "Empty", "--json").json == []
    assert tidelog("txn", "list", "--id", name, "--longer-than", "1h").out == "No transaction matches.\n"
    [described] = tidelog("txn", "describe", name, "--json").json
    assert described["producer_id"] == listed["producer_id"]
    assert described["coordinator"] == listed["coordinator"]
    assert described["partitions"] == [{"topic": topic, "partition": partition} for partition in (0, 1)]
    assert described["open_for_ms"] < 60_000
    shown = tidelog("txn", "describe", name).out
    assert f"{topic}[0-1]" in shown
    assert "Ongoing" in shown

    states = tidelog("topic", "producers", topic, "--open", "--json").json
    assert [(state["partition"], state["open_since_offset"]) for state in states] == [(0, 0), (1, 0)]
    assert {state["producer_id"] for state in states} == {described["producer_id"]}
    assert str(described["producer_id"]) in tidelog("topic", "producers", f"{topic}:1").out
    done = tidelog("txn", "find-hanging", topic, "--check")
    assert (done.code, done.out) == (Exit.OK, "No transaction hangs.\n")

    producer.commit_transaction(PATIENCE_S)
    eventually(lambda: tidelog("txn", "describe", name, "--json").json[0]["state"] == "CompleteCommit")
    [described] = tidelog("txn", "describe", name, "--json").json
    assert (described["started"], described["partitions"]) == (None, [])
    assert tidelog("topic", "producers", topic, "--open").out == "No open transactions.\n"
    assert len(tidelog("topic", "producers", topic, "--json").json) == 2


def test_what_nobody_knows_of_hangs_until_it_is_aborted(
    tidelog: Tidelog, fleet: FleetProcess, topic: str, open_producer: Callable[[str], Producer]
) -> None:
    producer = open_producer(f"alive-{topic}")
    write_unasked(tidelog, topic, 0, STRANGER, 3)
    done = tidelog("txn", "find-hanging", "--check", "--json")
    assert done.code == Exit.FAILED
    [found] = done.json
    assert (found["topic"], found["partition"], found["producer_id"]) == (topic, 0, STRANGER)
    assert (found["why"], found["open_since_offset"], found["epoch"]) == ("unknown", 1, 3)
    shown = tidelog("txn", "find-hanging", topic).out
    assert f"Try: tidelog txn abort {topic}:0 --producer-id {STRANGER}" in shown

    several = tidelog("txn", "abort", f"{topic}:0")
    assert several.code == Exit.USAGE
    assert str(STRANGER) in several.err
    assert tidelog("txn", "abort", f"{topic}:0", "--producer-id", str(STRANGER + 1)).code == Exit.NOT_FOUND
    done = tidelog("txn", "abort", f"{topic}:0", "--producer-id", str(STRANGER), typed=b"n\n")
    assert (done.code, "Nothing was aborted" in done.err) == (Exit.FAILED, True)
    done = tidelog("txn", "abort", f"{topic}:0", "--start-offset", "1", "--json")
    assert (done.code, done.json["result"]) == (Exit.OK, "aborted")
    assert tidelog("txn", "find-hanging", "--json").json == []
    producer.commit_transaction(PATIENCE_S)
    eventually(lambda: stable_end(fleet, topic, 0) == 4)  # two records, two markers


def test_a_partition_that_its_coordinator_left_out_hangs_too(
    tidelog: Tidelog, topic: str, open_producer: Callable[[str], Producer]
) -> None:
    name = f"half-{topic}"
    producer = open_producer(name)
    [described] = tidelog("txn", "describe", name, "--json").json
    write_unasked(tidelog, topic, 2, described["producer_id"], described["epoch"])
    [found] = tidelog("txn", "find-hanging", topic, "--json").json
    assert (found["partition"], found["why"], found["transactional_id"]) == (2, "left_out", name)
    assert tidelog("txn", "abort", f"{topic}:2").code == Exit.OK
    producer.abort_transaction(PATIENCE_S)


def test_a_transaction_that_goes_on_is_aborted_by_its_id_only(
    tidelog: Tidelog, fleet: FleetProcess, topic: str, open_producer: Callable[[str], Producer]
) -> None:
    name = f"slow-{topic}"
    producer = open_producer(name)
    refused = tidelog("txn", "abort", f"{topic}:0")
    assert refused.code == Exit.REFUSED
    assert f"--transactional-id {name}" in refused.err
    assert tidelog("txn", "abort", "--transactional-id", name).code == Exit.OK
    assert tidelog("txn", "describe", name, "--json").json[0]["state"] == "Empty"
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    eventually(lambda: [stable_end(fleet, topic, each) for each in (0, 1)] == [2, 2])
    done = tidelog("txn", "abort", "--transactional-id", name)
    assert (done.code, "no transaction open" in done.err) == (Exit.NOT_FOUND, True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("txn", "describe", "nobody"), Exit.NOT_FOUND),
        (("txn", "abort", "--transactional-id", "nobody"), Exit.NOT_FOUND),
        (("txn", "abort", "no-such-topic:0"), Exit.NOT_FOUND),
        (("txn", "find-hanging", "no-such-topic"), Exit.NOT_FOUND),
        (("topic", "producers", "no-such-topic"), Exit.NOT_FOUND),
        (("txn", "list", "--id", "("), Exit.REFUSED),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_not_there(tidelog: Tidelog, arguments: tuple[str, ...], code: Exit) -> None:
    done = tidelog(*arguments, "--json")
    assert done.code == code, done.err
    assert '"message"' in done.err


def test_a_partition_without_one(tidelog: Tidelog, topic: str) -> None:
    done = tidelog("txn", "abort", f"{topic}:2")
    assert (done.code, "No transaction is open" in done.err) == (Exit.NOT_FOUND, True)
    done = tidelog("topic", "producers", f"{topic}:7")
    assert done.code == Exit.NOT_FOUND

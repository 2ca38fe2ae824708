"""What becomes of a transaction, with a librdkafka that fails as it is told."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from tidelog import (
    ClientError,
    CommitRefused,
    OffsetAndMetadata,
    Producer,
    ProducerConfig,
    ProducerFenced,
    TopicPartition,
    Transaction,
    TransactionAborted,
    TransactionalProducer,
    TransactionUndecided,
    UsageError,
)
from tidelog.clients import retrying
from tidelog.clients.consumer.positions import Positions
from tidelog.clients.producer.sender import Sender
from tidelog.clients.producer.transaction_core import Stage, TransactionCore
from tidelog.clients.producer.transactional_producer import with_transactions
from tidelog.clients.serializers import data_serializer

A = TopicPartition("in", 0)
CONFIG = ProducerConfig(bootstrap_servers="nowhere:1", transactional_id="t", transaction_timeout_ms=1000)

PASSING = KafkaError(KafkaError._TIMED_OUT)
RETRIABLE = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "loading", False, True)
SPOILT = KafkaError(KafkaError.ILLEGAL_GENERATION, "moved on", False, False, True)
FENCED = KafkaError(KafkaError._FENCED, "fenced", True)


class FakeProducer:
    """Notes what is called; `fails` says how the next calls of a name fail."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self.calls: list[str] = []
        self.fails: dict[str, list[KafkaError]] = {}
        self.records: list[dict[str, Any]] = []
        self.offsets: list[Any] = []
        self._ended = threading.Event()

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.fails.get(name):
            raise KafkaException(self.fails[name].pop(0))

    def init_transactions(self, limit_s: float) -> None:
        self._call("init")

    def begin_transaction(self) -> None:
        self._call("begin")

    def send_offsets_to_transaction(self, offsets: Any, member: Any, limit_s: float) -> None:
        self._call("offsets")
        self.offsets += offsets

    def commit_transaction(self, limit_s: float) -> None:
        self._call("commit")

    def abort_transaction(self, limit_s: float) -> None:
        self._call("abort")

    def produce(self, **record: Any) -> None:
        self.records.append(record)

    def poll(self, timeout: float) -> int:
        self._ended.wait(timeout)
        return 0

    def flush(self, timeout: float) -> int:
        self._ended.set()
        for record in self.records:
            record["on_delivery"](KafkaError(KafkaError._PURGE_QUEUE), None)
        self.records.clear()
        return 0

    def purge(self) -> None:
        pass


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of a second passes with every look, so a limit of a second allows for one repetition."""
    ticks = iter(range(10_000))
    defaults: Any = retrying.retry_while_passing.__kwdefaults__
    monkeypatch.setitem(defaults, "now", lambda: next(ticks) / 4)
    monkeypatch.setitem(defaults, "sleep", lambda seconds: None)


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender(CONFIG, data_serializer, data_serializer, FakeProducer)
    yield made
    made.close(None)


@pytest.fixture
def begun(sender: Sender) -> TransactionCore:
    core = TransactionCore(sender)
    core.begin()
    sender.client.calls.clear()
    return core


def test_the_id_is_taken_once(sender: Sender) -> None:
    for _ in range(2):
        core = TransactionCore(sender)
        core.begin()
        core.commit()
    assert sender.client.calls == ["init", "begin", "commit", "begin", "commit"]


@pytest.mark.parametrize("passing", [PASSING, RETRIABLE])
def test_what_passes_is_tried_again(sender: Sender, begun: TransactionCore, passing: KafkaError) -> None:
    sender.client.fails["commit"] = [passing]
    begun.commit()
    assert sender.client.calls == ["commit", "commit"]
    assert begun.is_over


def test_no_answer_leaves_it_undecided_until_somebody_knows(sender: Sender, begun: TransactionCore) -> None:
    sender.client.fails["commit"] = [PASSING] * 10
    with pytest.raises(TransactionUndecided) as raised:
        begun.commit()
    assert (raised.value.retriable, raised.value.fatal) == (True, False)
    with pytest.raises(TransactionUndecided):
        begun.abort()
    with pytest.raises(TransactionUndecided):
        TransactionCore(sender).begin()
    assert "abort" not in sender.client.calls
    sender.client.fails.clear()
    begun.commit()
    TransactionCore(sender).begin()


def test_a_spoilt_one_is_aborted_and_may_run_again(sender: Sender, begun: TransactionCore) -> None:
    sender.client.fails["commit"] = [SPOILT]
    with pytest.raises(TransactionAborted, match="moved on") as raised:
        begun.commit()
    assert (raised.value.retriable, raised.value.reason) == (True, "ILLEGAL_GENERATION")
    assert sender.client.calls == ["commit", "abort"]
    TransactionCore(sender).begin()


def test_the_record_that_failed_is_the_reason(sender: Sender, begun: TransactionCore) -> None:
    record = sender.prepare("out", "v", None, partition=None, headers=None, timestamp=None)
    sender.try_produce(record, Ignored())
    sender.client.records.pop()["on_delivery"](KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), None)
    sender.client.fails["commit"] = [KafkaError(KafkaError._INCONSISTENT, "1 failed", False, False, True)]
    with pytest.raises(TransactionAborted, match="Sending to topic 'out'") as raised:
        begun.commit()
    assert raised.value.reason == "MSG_SIZE_TOO_LARGE"
    with pytest.raises(UsageError, match="not open"):
        begun.commit()
    later = TransactionCore(sender)
    later.begin()
    assert sender.failure is None, "a failure belongs to its own transaction"


def test_fencing_is_fatal_and_nothing_is_aborted(sender: Sender, begun: TransactionCore) -> None:
    sender.client.fails["commit"] = [FENCED]
    with pytest.raises(ProducerFenced) as raised:
        begun.commit()
    assert (raised.value.fatal, sender.client.calls) == (True, ["commit"])


def test_offsets_count_with_the_commit(sender: Sender, begun: TransactionCore) -> None:
    positions = Positions()
    positions.hand_out(A, 6)
    begun.add_offsets({A: OffsetAndMetadata(7, "x")}, "member", positions)
    begun.add_offsets({}, "member", positions)
    assert [(at.topic, at.partition, at.offset) for at in sender.client.offsets] == [("in", 0, 7)]
    assert positions.uncommitted() == {A: 7}
    begun.commit()
    assert positions.uncommitted() == {}
    assert sender.client.calls == ["offsets", "commit"]


def test_offsets_of_an_abort_do_not_count(sender: Sender, begun: TransactionCore) -> None:
    positions = Positions()
    positions.hand_out(A, 6)
    begun.add_offsets({A: 7}, "member", positions)
    begun.abort()
    assert positions.first_uncommitted() == {A: 6}


def test_refused_offsets_spoil_it_even_if_nobody_minds(sender: Sender, begun: TransactionCore) -> None:
    sender.client.fails["offsets"] = [SPOILT]
    with pytest.raises(TransactionAborted):
        begun.add_offsets({A: 7}, "member", Positions())
    with pytest.raises(TransactionAborted):
        begun.commit()
    assert sender.client.calls == ["offsets", "abort"]


def test_lost_partitions_spoil_it(sender: Sender, begun: TransactionCore) -> None:
    assert isinstance(begun.spoil(CommitRefused("gone.")), TransactionAborted)
    with pytest.raises(TransactionAborted, match="gone"):
        begun.commit()
    assert sender.client.calls == ["abort"]


def test_an_abort_without_an_answer_is_finished_by_the_next_one(
    sender: Sender, begun: TransactionCore
) -> None:
    sender.client.fails["abort"] = [PASSING] * 2
    with pytest.raises(ClientError):
        begun.abort()
    assert begun.stage is Stage.ABORTING
    sender.client.calls.clear()
    TransactionCore(sender).begin()
    assert sender.client.calls == ["abort", "begin"]


def test_one_at_a_time(sender: Sender, begun: TransactionCore) -> None:
    with pytest.raises(UsageError, match="under way already"):
        TransactionCore(sender).begin()
    with pytest.raises(UsageError, match="begins once"):
        begun.begin()


def test_no_record_outside(sender: Sender) -> None:
    def prepare() -> None:
        sender.prepare("out", "v", None, partition=None, headers=None, timestamp=None)

    with pytest.raises(UsageError, match="within transactions only"):
        prepare()
    core = TransactionCore(sender)
    core.begin()
    prepare()
    core.abort()
    with pytest.raises(UsageError, match="within transactions only"):
        prepare()


@pytest.fixture
def transaction(sender: Sender) -> Callable[[], Transaction[Any, Any]]:
    producer: Any = None  # nothing is sent through it here
    return lambda: Transaction(producer, sender)


def test_a_block_that_raises_aborts(sender: Sender, transaction: Callable[[], Any]) -> None:
    with pytest.raises(KeyError), transaction():
        raise KeyError
    with transaction() as tx:
        tx.abort()
    with transaction() as tx:
        tx.commit()
    assert [call for call in sender.client.calls if call != "begin"] == ["init", "abort", "abort", "commit"]


def test_the_blocks_own_error_outlives_a_failed_abort(sender: Sender, transaction: Callable[[], Any]) -> None:
    sender.client.fails["abort"] = [FENCED]
    with pytest.raises(KeyError) as raised, transaction():
        raise KeyError
    assert "fenced" in raised.value.__notes__[0]


def test_of_a_fenced_producer_the_fencing_is_told(sender: Sender, transaction: Callable[[], Any]) -> None:
    def block() -> None:
        with transaction():
            sender.fatal = ProducerFenced("fenced.", fatal=True)
            raise ClientError("purged.")

    with pytest.raises(ProducerFenced) as raised:
        block()
    assert "purged" in str(raised.value.__cause__)
    with pytest.raises(ProducerFenced), transaction():
        pass


def test_the_id_stands_in_the_call_or_in_the_configuration() -> None:
    plain = ProducerConfig(bootstrap_servers="nowhere:1")
    made = with_transactions(plain, "billing-1", 5000)
    assert (made.transactional_id, made.transaction_limit_ms) == ("billing-1", 5000)
    assert made.to_librdkafka()["message.timeout.ms"] == 5000
    assert with_transactions(CONFIG, None, None) == CONFIG
    with pytest.raises(UsageError, match="name"):
        TransactionalProducer(plain)
    with Producer(plain) as producer, pytest.raises(UsageError, match="no transactions"):
        producer.transaction()


class Ignored:
    def succeed(self, receipt: Any) -> None:
        pass

    def fail(self, error: ClientError) -> None:
        pass

"""The driver's and the tasks' parts of exactly-once against a real broker, without Spark: cheap, so thorough.

A crash is an exception between two steps after which nobody cleans up; then somebody else comes, in every way
that Spark lets them come.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.dying_sink import STEPS, DyingCommit
from tests.spark.read_back import counted
from tidelog.base.errors import KafkaError
from tidelog.blocking.cluster import Cluster
from tidelog.blocking.log_bounds import LogBounds
from tidelog.blocking.transactions import TransactionCalls
from tidelog.spark.sink.intent_log import TOPIC, IntentLog
from tidelog.spark.sink.intents import Participant
from tidelog.spark.sink.nameless import abort_once, commit_once, new_name
from tidelog.spark.sink.options import SinkOptions, read_sink_options
from tidelog.spark.sink.schema import shape_of
from tidelog.spark.sink.task import TaskWrite, write_in_transaction
from tidelog.spark.sink.two_phase_commit import (
    Batch,
    BatchLost,
    OtherRunIsAhead,
    TwoPhaseCommit,
    TwoPhaseCommitSettings,
    WriteFailed,
)
from tidelog.testing import Broker
from tidelog.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.wire.messages.list_transactions import ListTransactionsRequest

if TYPE_CHECKING:
    from tests.spark.conftest import Topics

SHAPE = shape_of({"value": "string"}, "")


class Crash(Exception):
    pass


def crash() -> None:
    raise Crash


@pytest.fixture(scope="module", params=["two-phase", "timeouts", "first protocol"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """With prepared transactions; without; and as for a broker whose writes do not join by themselves."""
    is_two_phase = request.param == "two-phase"
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "first protocol":
            patch.setattr(TransactionCalls, "writes_join", False)
        with Broker(settings={"transaction.two.phase.commit.enable": is_two_phase}) as running:
            yield running


class Query:
    """A query of which each start is a new run, and each batch is written by three tasks."""

    def __init__(self, broker: Broker, topic: str, **options: str) -> None:
        self.name = f"query-of-{topic}"
        self.options = options_for(broker, topic, **options)
        self.runs = 0

    def restart(self) -> None:
        self.runs += 1

    def write(self, batch: int, tasks: int = 3, run: str | None = None) -> list[TaskWrite]:
        rows = [[f"{batch}-{task}-{row}" for row in range(4)] for task in range(tasks)]
        run = run or f"{self.name}-{self.runs}"
        return [
            write_in_transaction(
                self.options, self._shape, [pa.record_batch({"value": values})], Batch(self.name, batch), run
            )
            for values in rows
        ]

    def commit(self, batch: int, written: Sequence[TaskWrite], die_after: str = "") -> None:
        kind = type("Dying", (DyingCommit,), {"last_step": die_after, "die": staticmethod(crash)})
        skipped = any(one.was_decided for one in written)
        self._with(
            lambda it: it.commit(Batch(self.name, batch), participants(written), has_skipped=skipped), kind
        )

    def abort(self, batch: int, written: Sequence[TaskWrite]) -> None:
        self._with(lambda commit: commit.abort(Batch(self.name, batch), participants(written)))

    def process(self, batch: int) -> None:
        self.commit(batch, self.write(batch))

    def expected(self, batches: int) -> dict[str, int]:
        return {f"{b}-{task}-{row}": 1 for b in range(batches) for task in range(3) for row in range(4)}

    def seen(self) -> dict[str, int]:
        return dict(counted(",".join(self.options.cluster.servers), str(self.options.topic)))

    def under_way(self) -> dict[str, str]:
        with Cluster(self.options.cluster) as cluster:
            return TransactionCalls(cluster).under_way(f"tidelog-spark-{self.name}-")

    @property
    def _shape(self) -> Any:
        return shape_of({"value": "string"}, self.options.topic)

    def _with(
        self, act: Callable[[TwoPhaseCommit], None], kind: type[TwoPhaseCommit] = TwoPhaseCommit
    ) -> None:
        with Cluster(self.options.cluster) as cluster:
            act(kind(cluster, self.options.two_phase_commit))


def options_for(broker: Broker, topic: str, **options: str) -> SinkOptions:
    base = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, "delivery": "exactly-once"}
    return read_sink_options(base | {name.replace("__", "."): value for name, value in options.items()})


def participants(written: Sequence[TaskWrite]) -> list[Participant]:
    return [one.participant for one in written if one.participant is not None]


@pytest.fixture
def query(broker: Broker, topics: "Topics") -> Query:
    return Query(broker, topics.create(2))


@pytest.mark.parametrize("step", STEPS)
def test_a_replay_after_a_crash(query: Query, step: str) -> None:
    query.process(0)
    with pytest.raises(Crash):
        query.commit(1, query.write(1), die_after=step)
    query.restart()
    again = query.write(1)
    was_decided = STEPS.index(step) >= STEPS.index("decide")
    assert [one.was_decided for one in again] == [was_decided] * 3
    query.commit(1, again)
    query.process(2)
    assert query.seen() == query.expected(3)
    assert query.under_way() == {}


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_of_the_replay_too(query: Query, step: str) -> None:
    for last in (step, "decide", step):
        query.restart()
        try:
            query.commit(0, query.write(0), die_after=last)
        except Crash:
            continue
    query.restart()
    query.commit(0, query.write(0))
    assert query.seen() == query.expected(1)
    assert query.under_way() == {}


@pytest.mark.parametrize("step", ["", *STEPS])
def test_a_driver_that_was_thought_dead(query: Query, step: str) -> None:
    """It has its tasks' transactions in hand when another takes its place, and then goes on."""
    mine = query.write(0)
    query.restart()
    try:
        query.commit(0, query.write(0), die_after=step)
    except Crash:
        was_decided = STEPS.index(step) >= STEPS.index("decide")
    else:
        was_decided = True
    if was_decided:
        query.commit(0, mine)
    else:
        try:
            query.commit(0, mine)
        except (WriteFailed, KafkaError):
            query.restart()
            query.process(0)
    assert query.seen() == query.expected(1)
    assert query.under_way() == {}


def test_a_driver_that_was_thought_dead_cannot_decide_any_more(query: Query) -> None:
    class Overtaken(TwoPhaseCommit):
        def prepare(self, batch: Batch, written: Sequence[Participant]) -> Any:
            intent = super().prepare(batch, written)
            query.restart()
            query.process(0)
            return intent

    first = query.write(0)
    with pytest.raises(KafkaError):
        query._with(lambda commit: commit.commit(Batch(query.name, 0), participants(first)), Overtaken)
    query.abort(0, first)
    assert query.seen() == query.expected(1)
    assert query.under_way() == {}


def test_attempts_that_nobody_heard_of_are_aborted(query: Query) -> None:
    query.process(0)
    query.write(1)  # a speculative attempt, say, which finished second
    query.process(1)
    query.write(2)
    query.abort(2, query.write(2)[:1])
    query.process(2)
    assert query.seen() == query.expected(3)
    assert query.under_way() == {}


def test_an_abort_after_the_decision_finishes(query: Query) -> None:
    written = query.write(0)
    with pytest.raises(Crash):
        query.commit(0, written, die_after="half-finish")
    query.abort(0, written)
    assert query.seen() == query.expected(1)


def test_ids_are_used_again(query: Query) -> None:
    for batch in range(6):
        query.process(batch)
    with Cluster(query.options.cluster) as cluster:
        [node] = cluster.nodes()
        listed = cluster.call_node(node, ListTransactionsRequest()).transaction_states
    mine = [one.transactional_id for one in listed if query.name in one.transactional_id]
    assert len(mine) == 4, "three tasks and the driver"


def test_a_writer_that_numbers_its_own_batches_may_leave_one_out(query: Query) -> None:
    with pytest.raises(Crash):
        query.commit(0, query.write(0), die_after="decide")
    query.restart()
    query.process(1)
    assert query.seen() == query.expected(2), "the first was decided, so it is finished"
    assert query.under_way() == {}


def test_a_checkpoint_older_than_the_output_is_refused(query: Query) -> None:
    for batch in range(3):
        query.process(batch)
    query.restart()
    with pytest.raises(OtherRunIsAhead, match=r"batch 1 of query .* but batch 2 was written already"):
        query.commit(1, query.write(1))
    assert query.seen() == query.expected(3)


def test_a_driver_that_stays_away(broker: Broker, topics: "Topics") -> None:
    """Longer than the transactions' timeout: a prepared one waits, the others are lost, and that is told."""
    query = Query(broker, topics.create(2), kafka__transaction__timeout__ms="1000")
    with pytest.raises(Crash):
        query.commit(0, query.write(0), die_after="half-finish")
    time.sleep(1.5)
    query.restart()
    again = query.write(0)
    if broker.settings["transaction.two.phase.commit.enable"]:
        query.commit(0, again)
        assert query.seen() == query.expected(1)
        return
    with pytest.raises(BatchLost, match="2 of its 3 transactions were aborted"):
        query.commit(0, again)
    skipping = Query(broker, str(query.options.topic), lostTransactions="skip")
    skipping.commit(0, again)
    skipping.process(1)
    assert set(skipping.seen()) == {key for key in query.expected(2) if key[:3] not in ("0-1", "0-2")}


def test_a_transaction_that_timed_out_before_the_decision_fails_the_batch(
    broker: Broker, topics: "Topics"
) -> None:
    query = Query(broker, topics.create(1), kafka__transaction__timeout__ms="500")
    written = query.write(0)
    time.sleep(1)
    with pytest.raises(WriteFailed, match=r"kafka\.transaction\.timeout\.ms"):
        query.commit(0, written)
    query.abort(0, written)
    query.process(0)
    assert query.seen() == query.expected(1)


def test_a_write_without_a_name(broker: Broker, topics: "Topics") -> None:
    query = Query(broker, topics.create(2))
    query.name = new_name()
    with Cluster(query.options.cluster) as cluster:
        commit = TwoPhaseCommit(cluster, TwoPhaseCommitSettings())
        commit_once(commit, participants(query.write(0)))
        commit.abort_all(participants(query.write(1)))
        commit_once(commit, participants(query.write(2)))
    assert set(query.seen()) == {key for key in query.expected(3) if key[0] != "1"}


def test_what_tasks_of_a_failed_write_without_a_name_left_open_is_aborted(
    broker: Broker, topics: "Topics"
) -> None:
    """But nothing of another write."""
    failed, other = Query(broker, topics.create(2)), Query(broker, topics.create(2))
    failed.name, other.name = "batch-001", "batch-002"
    heard, *unheard = failed.write(0)
    waiting = other.write(0)
    with Cluster(failed.options.cluster) as cluster:
        abort_once(TwoPhaseCommit(cluster, TwoPhaseCommitSettings()), failed.name, participants([heard]))
        assert len(unheard) == 2
        assert failed.under_way() == {}
        commit_once(TwoPhaseCommit(cluster, TwoPhaseCommitSettings()), participants(waiting))
    assert failed.seen() == {}
    assert other.seen() == other.expected(1)


def test_a_driver_that_was_thought_dead_aborts_nothing_of_its_successor(query: Query) -> None:
    """It wakes up before its last step, when the next driver has decided the next batch already."""

    class Late(TwoPhaseCommit):
        def abort_all(self, written: Sequence[Participant]) -> None:
            query.restart()
            query.commit(0, query.write(0))
            with pytest.raises(Crash):
                query.commit(1, query.write(1), die_after="decide")
            super().abort_all(written)

    query._with(lambda it: it.commit(Batch(query.name, 0), participants(query.write(0))), Late)
    query.restart()
    query.commit(1, query.write(1))
    assert query.seen() == query.expected(2)
    assert query.under_way() == {}


def test_a_driver_that_was_thought_dead_takes_over_what_was_decided(query: Query) -> None:
    """By its id, which has been used again. The decision stands."""
    mine = query.write(0)

    class Late(TwoPhaseCommit):
        def prepare(self, batch: Batch, written: Sequence[Participant]) -> Any:
            query.restart()
            query.process(0)
            with pytest.raises(Crash):
                query.commit(1, query.write(1), die_after="decide")
            return super().prepare(batch, written)

    with pytest.raises((WriteFailed, KafkaError)):
        query._with(lambda it: it.commit(Batch(query.name, 0), participants(mine)), Late)
    query.restart()
    query.commit(1, query.write(1))
    query.process(2)
    assert query.seen() == query.expected(3)
    assert query.under_way() == {}


def test_names_that_begin_alike_are_kept_apart(broker: Broker, topics: "Topics") -> None:
    short, long = Query(broker, topics.create(1)), Query(broker, topics.create(1))
    long.name = f"{short.name}-eu"
    with pytest.raises(Crash):
        long.commit(0, long.write(0), die_after="decide")
    short.process(0)
    long.restart()
    long.commit(0, long.write(0))
    assert long.seen() == long.expected(1)
    assert short.seen() == short.expected(1)


def test_a_broker_that_has_not_heard_of_the_intents_cannot_undo_them(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Crash):
        query.commit(0, query.write(0), die_after="half-finish")
    query.restart()
    asked, ensure = Cluster.topics, IntentLog._ensure_topic

    def unheard(self: Cluster, names: Any = None) -> Any:
        return {} if names == [TOPIC] else asked(self, names)

    def ensured(self: IntentLog) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Cluster, "topics", asked)  # this one went to another broker
            ensure(self)

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "topics", unheard)
        patch.setattr(IntentLog, "_ensure_topic", ensured)
        written = query.write(0)
        assert not any(one.was_decided for one in written)
        query.commit(0, written)
    assert query.seen() == query.expected(1)


def test_a_leader_that_was_deposed_and_does_not_know_cannot_undo_a_decision(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells of the intents as they were. Only a write finds the leader that has the last."""
    with pytest.raises(Crash):
        query.commit(0, query.write(0), die_after="half-finish")
    query.restart()
    latest = LogBounds.latest

    class Healed(TwoPhaseCommit):
        def prepare(self, batch: Batch, written: Sequence[Participant]) -> Any:
            monkeypatch.setattr(LogBounds, "latest", latest)
            return super().prepare(batch, written)

    monkeypatch.setattr(LogBounds, "latest", lambda self, wanted: dict.fromkeys(wanted, 0))
    written = query.write(0)
    with pytest.raises(KafkaError, match="decided in the meantime"):
        query._with(lambda it: it.commit(Batch(query.name, 0), participants(written)), Healed)
    query.restart()
    query.commit(0, query.write(0))
    assert query.seen() == query.expected(1)
    assert query.under_way() == {}


def test_decisions_are_found_when_their_topic_has_got_more_partitions(
    broker: Broker, topics: "Topics"
) -> None:
    names = [topics.create(1) for _ in range(4)]  # some would fall into other partitions
    queries = [Query(broker, name, intentsTopic=f"intents-of-{names[0]}") for name in names]
    for query in queries:
        with pytest.raises(Crash):
            query.commit(0, query.write(0), die_after="half-finish")
    with Cluster(queries[0].options.cluster) as cluster:
        more = CreatePartitionsTopic(name=f"intents-of-{names[0]}", count=13)
        answer = cluster.call_any(CreatePartitionsRequest(topics=[more], timeout_ms=10_000))
        assert [one.error_code for one in answer.results] == [0]
    for query in queries:
        query.restart()
        query.commit(0, query.write(0))
        assert query.seen() == query.expected(1)


def test_brokers_of_which_some_keep_prepared_transactions(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while one after the other is restarted with the setting for it."""
    take_over = TransactionCalls.take_over
    written = query.write(0)
    refused = written[1].participant

    def only_some(self: TransactionCalls, id: str) -> Any:
        return None if refused is not None and id == refused.id else take_over(self, id)

    monkeypatch.setattr(TransactionCalls, "take_over", only_some)
    query.commit(0, written)
    assert query.seen() == query.expected(1)
    assert query.under_way() == {}

import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0, ID, Coordinator
from tidelog.base.errors import ErrorCode as E
from tidelog.transactions.joining import PARTITIONS_MAX
from tidelog.transactions.messages import AddRequest
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Identity, TopicPartition


def test_the_first_partition_begins_the_transaction(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    assert coordinator.add(producer, B0) is E.NONE
    started_ms = coordinator.found.started_ms
    assert started_ms == coordinator.now_ms
    coordinator.now += 5
    assert coordinator.add(producer, A1, A0, A1) is E.NONE
    assert coordinator.found.partitions == (A0, A1, B0)
    assert coordinator.found.started_ms == started_ms
    assert coordinator.found.state is State.ONGOING


def test_what_is_in_already_is_not_written_again(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    coordinator.add(producer, A0, B0)
    count = len(coordinator.log.records)
    assert coordinator.add(producer, A0) is E.NONE
    decision = coordinator.shard.add(AddRequest(ID, producer, ()), coordinator.now_ms)
    assert decision.if_committed is E.NONE
    assert len(coordinator.log.records) == count


def test_an_ended_transaction_leaves_no_partition_to_the_next(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    coordinator.add(producer, A0, version=0)
    coordinator.end(producer, version=0)
    assert coordinator.add(producer, A0, version=0) is E.CONCURRENT_TRANSACTIONS
    coordinator.mark_all()
    assert coordinator.add(producer, B0, version=0) is E.NONE
    assert coordinator.found.partitions == (B0,)


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Identity(100, 1), E.PRODUCER_FENCED),
        (Identity(99, 0), E.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_strangers_add_nothing(coordinator: Coordinator, producer: Identity, error: E) -> None:
    coordinator.init()
    assert coordinator.add(producer, A0) is error
    assert coordinator.verify(producer, A0) == [error]


def test_an_id_that_nobody_knows(coordinator: Coordinator) -> None:
    assert coordinator.add(Identity(1, 0), A0) is E.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.end(Identity(1, 0)).error is E.INVALID_PRODUCER_ID_MAPPING
    nameless = AddRequest("", Identity(1, 0), (A0,))
    assert coordinator.shard.add(nameless, 0).if_committed is E.INVALID_REQUEST


def test_a_leader_learns_what_is_in_the_transaction(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    assert coordinator.verify(producer, A0) == [E.TRANSACTION_ABORTABLE]
    coordinator.add(producer, A0)
    assert coordinator.verify(producer, A0, A1) == [E.NONE, E.TRANSACTION_ABORTABLE]
    after = coordinator.end(producer).producer
    assert coordinator.verify(producer, A0) == [E.PRODUCER_FENCED]
    assert coordinator.verify(after, A0) == [E.CONCURRENT_TRANSACTIONS]
    coordinator.mark_all()
    assert coordinator.verify(after, A0) == [E.TRANSACTION_ABORTABLE]


def test_a_transaction_cannot_grow_without_limit(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    many = [TopicPartition("t", number) for number in range(PARTITIONS_MAX + 1)]
    assert coordinator.add(producer, *many[:-1]) is E.NONE
    assert coordinator.add(producer, many[-1]) is E.INVALID_REQUEST

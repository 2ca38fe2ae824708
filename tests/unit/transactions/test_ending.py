import msgspec
import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0, Coordinator
from tidelog.base.errors import ErrorCode as E
from tidelog.transactions.marker import Marker
from tidelog.transactions.messages import EndAnswer
from tidelog.transactions.states import State
from tidelog.transactions.transaction import EPOCH_MAX, EPOCHS_END, NO_IDENTITY, Identity


def begun(coordinator: Coordinator, version: int = 2) -> Identity:
    producer = coordinator.init().producer
    assert coordinator.add(producer, version=version) is E.NONE
    return producer


@pytest.mark.parametrize("commit", [True, False])
def test_a_client_of_the_first_protocol_keeps_its_epoch(coordinator: Coordinator, commit: bool) -> None:
    producer = begun(coordinator, version=0)
    assert coordinator.end(producer, commit=commit, version=0) == (E.NONE, producer)
    assert coordinator.found.state is (State.PREPARE_COMMIT if commit else State.PREPARE_ABORT)
    assert coordinator.mark_all() == [(Marker("billing-1", producer, commit, 1, 0), (A0, B0))]
    assert coordinator.found.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)
    assert coordinator.found.partitions == ()


@pytest.mark.parametrize("commit", [True, False])
def test_with_kip_890_every_end_brings_a_new_epoch(coordinator: Coordinator, commit: bool) -> None:
    producer = begun(coordinator)
    after = Identity(producer.producer_id, 1)
    assert coordinator.end(producer, commit=commit) == (E.NONE, after)
    assert coordinator.mark_all() == [(Marker("billing-1", after, commit, 1, 2), (A0, B0))]
    assert coordinator.add(after, A1) is E.NONE
    assert coordinator.end(after).producer == Identity(producer.producer_id, 2)


def test_a_retry_gets_the_same_answer_once_the_markers_are_written(coordinator: Coordinator) -> None:
    producer = begun(coordinator)
    first = coordinator.end(producer)
    assert coordinator.end(producer).error is E.CONCURRENT_TRANSACTIONS
    assert coordinator.end(producer, commit=False).error is E.INVALID_TXN_STATE
    coordinator.mark_all()
    last = coordinator.log.records[-1]
    assert coordinator.end(producer) == first
    assert coordinator.end(producer, commit=False).error is E.INVALID_TXN_STATE
    assert coordinator.log.records[-2:] == [last, last], "each is told only once the state was confirmed"


def test_a_delayed_end_cannot_end_a_later_transaction(coordinator: Coordinator) -> None:
    producer = begun(coordinator)
    after = coordinator.end(producer).producer
    coordinator.mark_all()
    coordinator.add(after, A1)
    assert coordinator.end(producer).error is E.PRODUCER_FENCED
    assert coordinator.end(producer, commit=False).error is E.PRODUCER_FENCED
    assert coordinator.found.state is State.ONGOING


def test_the_first_protocol_cannot_tell_a_delayed_end(coordinator: Coordinator) -> None:
    """The flaw that KIP-890 cures; clients that do not speak it still live with it."""
    producer = begun(coordinator, version=0)
    coordinator.end(producer, version=0)
    coordinator.mark_all()
    coordinator.add(producer, A1, version=0)
    assert coordinator.end(producer, version=0).error is E.NONE


def test_an_end_of_the_next_transaction_waits_for_the_markers_of_this_one(coordinator: Coordinator) -> None:
    after = coordinator.end(begun(coordinator)).producer
    assert coordinator.end(after, commit=False).error is E.CONCURRENT_TRANSACTIONS
    assert coordinator.add(after, A1) is E.CONCURRENT_TRANSACTIONS
    coordinator.mark_all()
    assert coordinator.end(after, commit=False).error is E.NONE


def test_an_abort_of_nothing_outdates_what_is_under_way(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    answer = coordinator.end(producer, commit=False)
    assert answer == (E.NONE, Identity(producer.producer_id, 1))
    assert coordinator.mark_all() == []
    assert coordinator.found.state is State.COMPLETE_ABORT
    assert coordinator.add(producer, A0) is E.PRODUCER_FENCED
    assert coordinator.end(producer, commit=False) == answer


@pytest.mark.parametrize("version", [0, 2])
def test_a_commit_without_a_transaction_is_refused(coordinator: Coordinator, version: int) -> None:
    producer = coordinator.init().producer
    assert coordinator.end(producer, version=version).error is E.INVALID_TXN_STATE


def test_strangers_and_zombies_are_refused(coordinator: Coordinator) -> None:
    producer = begun(coordinator)
    assert coordinator.end(Identity(producer.producer_id + 5, 0)).error is E.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.end(Identity(producer.producer_id, 7)).error is E.PRODUCER_FENCED
    assert coordinator.found.state is State.ONGOING


def test_a_producer_whose_epochs_are_used_up_goes_on_with_a_new_id(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    last = Identity(producer.producer_id, EPOCHS_END)
    coordinator.put(msgspec.structs.replace(coordinator.found, writer=last, version=2))
    coordinator.add(last)
    answer = coordinator.end(last)
    assert answer == (E.NONE, Identity(101, 0))
    coordinator.load()
    assert coordinator.end(last).error is E.CONCURRENT_TRANSACTIONS
    [(marker, _)] = coordinator.mark_all()
    assert marker.writer == Identity(producer.producer_id, EPOCH_MAX)
    assert coordinator.found.writer == Identity(101, 0)
    assert coordinator.found.next == NO_IDENTITY
    assert coordinator.end(last) == answer
    assert coordinator.end(Identity(producer.producer_id, 5)).error is E.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.add(answer.producer) is E.NONE
    assert coordinator.end(last).error is E.PRODUCER_FENCED


@pytest.mark.parametrize("version", [0, 2])
def test_a_timeout_aborts_and_fences(coordinator: Coordinator, version: int) -> None:
    producer = begun(coordinator, version)
    coordinator.wait(59)
    assert coordinator.found.state is State.ONGOING
    coordinator.wait(2)
    assert coordinator.found.state is State.PREPARE_ABORT
    assert "longer than its 60000 ms" in coordinator.shard.take_notes()[0]
    for abort_2 in (E.CONCURRENT_TRANSACTIONS, E.NONE):  # before and after the markers
        abort, commit = (abort_2, E.INVALID_TXN_STATE) if version == 2 else [E.PRODUCER_FENCED] * 2
        assert coordinator.end(producer, commit=False, version=version).error is abort
        assert coordinator.end(producer, version=version).error is commit
        assert coordinator.add(producer, A1, version=version) is E.PRODUCER_FENCED
        coordinator.mark_all()
    assert coordinator.found.state is State.COMPLETE_ABORT


def test_after_a_timeout_an_abort_lets_the_producer_go_on(coordinator: Coordinator) -> None:
    """Nobody took its place. Its answer is the epoch of the markers, and all it wrote before is refused."""
    producer = begun(coordinator)
    coordinator.wait(61)
    [(marker, _)] = coordinator.mark_all()
    answer = coordinator.end(producer, commit=False)
    assert answer == EndAnswer(E.NONE, Identity(producer.producer_id, producer.epoch + 1))
    assert marker.writer == answer.producer
    assert coordinator.add(answer.producer) is E.NONE
    assert coordinator.end(producer, commit=False).error is E.PRODUCER_FENCED
    assert coordinator.end(answer.producer).error is E.NONE


def test_a_timeout_at_the_last_epoch_still_fences(coordinator: Coordinator) -> None:
    last = Identity(coordinator.init().producer.producer_id, EPOCHS_END)
    coordinator.put(msgspec.structs.replace(coordinator.found, writer=last, version=2))
    coordinator.add(last)
    coordinator.wait(61)
    assert coordinator.end(last, commit=False).error is E.PRODUCER_FENCED
    [(marker, _)] = coordinator.mark_all()
    assert marker.writer.epoch == EPOCH_MAX
    assert coordinator.end(last, commit=False).error is E.PRODUCER_FENCED
    assert coordinator.init().producer == Identity(101, 0)


def test_a_timeout_that_cannot_be_written_comes_again(coordinator: Coordinator) -> None:
    begun(coordinator)
    coordinator.log.refuse(E.NOT_ENOUGH_REPLICAS)
    coordinator.wait(61)
    assert coordinator.found.state is State.ONGOING
    coordinator.log.refuse(None)
    coordinator.wait(2)
    assert coordinator.found.state is State.PREPARE_ABORT


def test_a_transaction_counts_on_after_a_new_coordinator_took_over(coordinator: Coordinator) -> None:
    begun(coordinator)
    coordinator.now += 50
    coordinator.load()
    coordinator.wait(11)
    assert coordinator.found.state is State.PREPARE_ABORT


def test_markers_of_what_was_decided_are_written_by_the_next_coordinator(coordinator: Coordinator) -> None:
    producer = begun(coordinator)
    coordinator.end(producer)
    coordinator.load()
    [(marker, partitions)] = coordinator.shard.take_markers()
    assert marker.commit
    assert marker.coordinator_epoch == 2
    assert partitions == (A0, B0)
    assert coordinator.shard.complete(marker._replace(coordinator_epoch=1), coordinator.now_ms) is None
    decision = coordinator.shard.complete(marker, coordinator.now_ms)
    assert decision is not None
    coordinator.run(decision)
    assert coordinator.shard.complete(marker, coordinator.now_ms) is None
    coordinator.load()
    assert coordinator.shard.take_markers() == []


def test_nothing_holds_of_an_end_that_could_not_be_written(coordinator: Coordinator) -> None:
    producer = begun(coordinator)
    coordinator.log.refuse(E.COORDINATOR_NOT_AVAILABLE)
    assert coordinator.end(producer).error is E.COORDINATOR_NOT_AVAILABLE
    coordinator.log.refuse(None)
    assert coordinator.found.state is State.ONGOING
    assert coordinator.mark_all() == []
    assert coordinator.end(producer, commit=False).error is E.NONE


def test_ends_are_counted_by_how_they_came(coordinator: Coordinator) -> None:
    for commit in (True, False, True):
        producer = begun(coordinator)
        coordinator.end(producer, commit=commit)
        coordinator.mark_all()
    begun(coordinator)
    coordinator.wait(61)
    ended = coordinator.shard._ended
    assert (ended.committed, ended.aborted, ended.timed_out) == (2, 1, 1)

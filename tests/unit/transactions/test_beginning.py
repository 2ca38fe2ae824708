import msgspec
import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0, Coordinator
from tidelog.base.errors import ErrorCode as E
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.states import State
from tidelog.transactions.transaction import EPOCHS_END, NO_IDENTITY, NO_TIMEOUT_MS, Identity


def test_a_new_id_gets_a_producer_id_and_later_ones_the_next_epoch(coordinator: Coordinator) -> None:
    assert coordinator.init() == (E.NONE, Identity(100, 0), NO_IDENTITY)
    assert coordinator.init() == (E.NONE, Identity(100, 1), NO_IDENTITY)
    assert coordinator.add(Identity(100, 0)) is E.PRODUCER_FENCED


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_have_a_limit(coordinator: Coordinator, timeout_ms: int) -> None:
    assert coordinator.init(timeout_ms=timeout_ms).error is E.INVALID_TRANSACTION_TIMEOUT
    assert coordinator.init(timeout_ms=900_000).error is E.NONE


def test_requests_that_make_no_sense_are_refused(coordinator: Coordinator) -> None:
    assert coordinator.init(id="").error is E.INVALID_REQUEST
    assert coordinator.init(Identity(5, -1)).error is E.INVALID_REQUEST
    assert coordinator.init(Identity(-1, 5)).error is E.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_of_the_one_before_is_aborted_first(coordinator: Coordinator, version: int) -> None:
    old = coordinator.init().producer
    coordinator.add(old, version=version)
    assert coordinator.init().error is E.CONCURRENT_TRANSACTIONS
    assert coordinator.init().error is E.CONCURRENT_TRANSACTIONS
    [(marker, partitions)] = coordinator.mark_all()
    assert not marker.commit
    assert partitions == (A0, B0)
    assert marker.writer.epoch > old.epoch
    new = coordinator.init().producer
    assert new.producer_id == old.producer_id
    assert new.epoch > marker.writer.epoch
    assert coordinator.end(old, version=version).error is E.PRODUCER_FENCED
    assert coordinator.add(old, version=version) is E.PRODUCER_FENCED
    assert coordinator.add(new, version=version) is E.NONE


def test_a_producer_that_names_itself_goes_on_after_an_error(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    bumped = coordinator.init(expected=producer)
    assert bumped.producer == Identity(100, 1)
    assert coordinator.init(expected=producer) == bumped, "the answer was lost, and nobody else has come"
    assert coordinator.init(expected=bumped.producer).producer == Identity(100, 2)
    assert coordinator.init(expected=producer).error is E.PRODUCER_FENCED


@pytest.mark.parametrize("version", [0, 2])
def test_a_producer_that_names_itself_in_a_transaction_aborts_it_and_goes_on(
    coordinator: Coordinator, version: int
) -> None:
    """As librdkafka does after a record that it had to give up."""
    producer = coordinator.init().producer
    coordinator.add(producer, version=version)
    assert coordinator.init(expected=producer).error is E.CONCURRENT_TRANSACTIONS
    assert coordinator.init(expected=producer).error is E.CONCURRENT_TRANSACTIONS
    [(marker, _)] = coordinator.mark_all()
    again = coordinator.init(expected=producer)
    assert (again.error, again.producer) == (E.NONE, marker.writer)
    assert coordinator.add(producer, version=version) is E.PRODUCER_FENCED
    assert coordinator.add(again.producer, version=version) is E.NONE


def test_one_at_the_last_epoch_goes_on_with_a_new_id(coordinator: Coordinator) -> None:
    last = Identity(coordinator.init().producer.producer_id, EPOCHS_END)
    coordinator.put(msgspec.structs.replace(coordinator.found, writer=last, version=2))
    coordinator.add(last)
    coordinator.init(expected=last)
    coordinator.mark_all()
    assert coordinator.init(expected=last).producer == Identity(101, 0)


def test_a_zombie_that_names_itself_aborts_nothing(coordinator: Coordinator) -> None:
    zombie = coordinator.init().producer
    heir = coordinator.init().producer
    coordinator.add(heir)
    assert coordinator.init(expected=zombie).error is E.PRODUCER_FENCED
    assert coordinator.end(heir).error is E.NONE


def test_a_producer_that_names_itself_is_fenced_by_a_newer_one(coordinator: Coordinator) -> None:
    old = coordinator.init().producer
    coordinator.init()
    assert coordinator.init(expected=old).error is E.PRODUCER_FENCED
    assert coordinator.init(expected=Identity(7, 0)).error is E.PRODUCER_FENCED


def test_one_that_expired_here_is_as_good_as_new(coordinator: Coordinator) -> None:
    assert coordinator.init(expected=Identity(42, 3)).producer == Identity(100, 0)


def test_after_the_last_epoch_comes_a_new_producer_id(coordinator: Coordinator) -> None:
    coordinator.init()
    last = Identity(100, EPOCHS_END)
    coordinator.put(msgspec.structs.replace(coordinator.found, writer=last))
    rotated = coordinator.init(expected=last)
    assert rotated.producer == Identity(101, 0)
    assert coordinator.init(expected=last) == rotated, "a retry"
    assert coordinator.found.previous_id == 100


def test_nothing_holds_of_a_beginning_that_could_not_be_written(coordinator: Coordinator) -> None:
    coordinator.log.refuse(E.NOT_COORDINATOR)
    assert coordinator.init().error is E.NOT_COORDINATOR
    assert coordinator.shard.transactions == {}


def test_two_phase_commit_needs_the_brokers_leave() -> None:
    coordinator = Coordinator(TransactionSettings())
    assert coordinator.init(two_phase=True).error is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert coordinator.init(keep_prepared=True).error is E.INVALID_REQUEST


class TestKeptTransaction:
    """KIP-939: a prepared transaction waits for whoever decides it, through deaths of its producer."""

    def kept(self, coordinator: Coordinator) -> tuple[Identity, Identity]:
        old = coordinator.init(two_phase=True).producer
        coordinator.add(old)
        answer = coordinator.init(two_phase=True, keep_prepared=True)
        assert answer == (E.NONE, Identity(100, 1), old)
        return old, answer.producer

    def test_it_has_no_timeout(self, coordinator: Coordinator) -> None:
        self.kept(coordinator)
        assert coordinator.found.timeout_ms == NO_TIMEOUT_MS
        coordinator.wait(10**9)
        assert coordinator.found.state is State.ONGOING

    def test_one_that_was_begun_with_a_timeout_has_none_once_it_is_kept(
        self, coordinator: Coordinator
    ) -> None:
        coordinator.add(coordinator.init().producer)
        assert coordinator.init(two_phase=True, keep_prepared=True).error is E.NONE
        coordinator.wait(10**9)
        assert coordinator.found.state is State.ONGOING
        coordinator.load()
        coordinator.wait(10**9)
        assert coordinator.found.state is State.ONGOING

    @pytest.mark.parametrize("commit", [True, False])
    @pytest.mark.parametrize("version", [0, 2])
    def test_only_the_successor_may_end_it(
        self, coordinator: Coordinator, commit: bool, version: int
    ) -> None:
        old, new = self.kept(coordinator)
        coordinator.load()
        assert coordinator.end(old, commit=commit, version=version).error is E.PRODUCER_FENCED
        assert coordinator.add(old, A1) is E.PRODUCER_FENCED
        assert coordinator.add(new, A1) is E.INVALID_TXN_STATE
        assert coordinator.verify(old, A0) == [E.PRODUCER_FENCED]
        assert coordinator.verify(new, A0) == [E.TRANSACTION_ABORTABLE]
        answer = coordinator.end(new, commit=commit, version=version)
        assert answer.error is E.NONE
        [(marker, partitions)] = coordinator.mark_all()
        assert marker.commit == commit
        assert partitions == (A0, B0)
        assert marker.writer.producer_id == old.producer_id
        assert marker.writer.epoch > old.epoch
        assert coordinator.end(new, commit=commit, version=version) == answer
        assert coordinator.add(answer.producer) is E.NONE

    def test_each_incarnation_fences_the_one_before(self, coordinator: Coordinator) -> None:
        old, second = self.kept(coordinator)
        third = coordinator.init(two_phase=True, keep_prepared=True)
        assert third == (E.NONE, Identity(100, 2), old)
        assert coordinator.end(second).error is E.PRODUCER_FENCED
        expecting = coordinator.init(expected=second, two_phase=True, keep_prepared=True)
        assert expecting.error is E.PRODUCER_FENCED

    def test_it_is_aborted_by_one_that_does_not_want_it(self, coordinator: Coordinator) -> None:
        _, second = self.kept(coordinator)
        assert coordinator.init().error is E.CONCURRENT_TRANSACTIONS
        [(marker, _)] = coordinator.mark_all()
        assert not marker.commit
        assert coordinator.end(second).error is E.PRODUCER_FENCED
        assert coordinator.init().error is E.NONE

    def test_it_outlives_the_last_epoch(self, coordinator: Coordinator) -> None:
        coordinator.init(two_phase=True)
        last = Identity(100, EPOCHS_END)
        coordinator.put(msgspec.structs.replace(coordinator.found, writer=last, version=2))
        coordinator.add(last)
        kept = coordinator.init(two_phase=True, keep_prepared=True)
        assert kept == (E.NONE, Identity(101, 0), last)
        coordinator.load()
        answer = coordinator.end(kept.producer)
        assert answer.producer == Identity(101, 1)
        [(marker, _)] = coordinator.mark_all()
        assert marker.writer == Identity(100, EPOCHS_END + 1)
        assert coordinator.found.writer == Identity(101, 1)

    def test_without_a_transaction_there_is_nothing_to_keep(self, coordinator: Coordinator) -> None:
        coordinator.init(two_phase=True)
        assert coordinator.init(two_phase=True, keep_prepared=True) == (E.NONE, Identity(100, 1), NO_IDENTITY)

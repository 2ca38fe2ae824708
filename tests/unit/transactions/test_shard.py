import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0, ID, Coordinator
from tidelog.base.errors import ErrorCode as E
from tidelog.base.invariant import InvariantError
from tidelog.transactions import shard
from tidelog.transactions.listing import unknown_states
from tidelog.transactions.messages import DescribedTransaction, ListedTransaction, ListFilter
from tidelog.transactions.record_format import encode_key, encode_value
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.states import NEXT, State
from tidelog.transactions.transaction import Identity, Transaction

WEEK = 7 * 24 * 3600


def test_ids_expire_when_no_transaction_is_under_way(coordinator: Coordinator) -> None:
    coordinator.init(id="idle")
    producer = coordinator.init(two_phase=True).producer
    coordinator.add(producer)
    coordinator.wait(WEEK - 10)
    assert set(coordinator.shard.transactions) == {"idle", ID}
    coordinator.wait(3600)
    assert set(coordinator.shard.transactions) == {ID}
    assert coordinator.log.records[-1] == (encode_key("idle"), None)
    assert "1 transactional ids have expired" in coordinator.shard.take_notes()[-1]
    coordinator.load()
    assert set(coordinator.shard.transactions) == {ID}


def test_many_ids_expire_in_pieces(coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "EXPIRED_PER_PIECE", 2)
    for number in range(5):
        coordinator.init(id=f"id-{number}")
    coordinator.now += WEEK + 3600
    decision = coordinator.shard.tick(coordinator.now, coordinator.now_ms)
    assert decision is not None
    assert len(decision.records) == 2
    coordinator.run(decision)
    coordinator.wait(1)
    assert len(coordinator.shard.transactions) == 1
    coordinator.wait(1)
    assert coordinator.shard.transactions == {}


def test_a_use_keeps_an_id_alive(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    coordinator.wait(WEEK - 10)
    coordinator.add(producer, version=0)
    coordinator.end(producer, version=0)
    coordinator.mark_all()
    coordinator.wait(3700)
    assert ID in coordinator.shard.transactions


def test_a_clock_set_back_makes_no_id_younger(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    before = coordinator.found.updated_ms
    coordinator.now -= 500
    coordinator.add(producer)
    assert coordinator.found.updated_ms == before


def test_describe(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    coordinator.add(producer, A0, A1, B0)
    assert coordinator.shard.describe(ID) == DescribedTransaction(
        ID, E.NONE, "Ongoing", 60_000, coordinator.now_ms, producer, (A0, A1, B0)
    )
    assert coordinator.shard.describe("nobody").error is E.TRANSACTIONAL_ID_NOT_FOUND
    assert coordinator.shard.describe("").error is E.INVALID_REQUEST


def test_list(coordinator: Coordinator) -> None:
    coordinator.init(id="other")
    producer = coordinator.init().producer
    coordinator.add(producer)
    coordinator.now += 10
    ongoing, empty = ListedTransaction(ID, 101, "Ongoing"), ListedTransaction("other", 100, "Empty")

    def listed(**wanted: object) -> list[ListedTransaction]:
        return coordinator.shard.listed(ListFilter(**wanted), coordinator.now_ms)  # type: ignore[arg-type]

    assert listed() == [empty, ongoing]
    assert listed(states=["Ongoing"]) == [ongoing]
    assert listed(states=["ongoing"]) == []
    assert listed(producer_ids=[100]) == [empty]
    assert listed(duration_ms=9_999) == [ongoing]
    assert listed(duration_ms=10_000) == []
    assert unknown_states(["Ongoing", "Sleepy"]) == ["Sleepy"]


def test_unloading_stops_everything(coordinator: Coordinator) -> None:
    producer = coordinator.init().producer
    coordinator.add(producer)
    held = coordinator.shard
    coordinator.end(producer)
    held.unload()
    assert held.next_deadline is None
    assert held.take_markers() == []
    assert held.transactions == {}


def test_records_of_a_later_version_are_left_alone(coordinator: Coordinator) -> None:
    coordinator.shard.replay(b"\x00\x09whatever", b"")
    assert coordinator.shard.skipped == 1


def test_an_ending_without_partitions_in_a_log_of_kafka_is_completed(coordinator: Coordinator) -> None:
    ending = Transaction("k", Identity(3, 4), State.PREPARE_ABORT, 1000, 5)
    coordinator.log.records.append((encode_key("k"), encode_value(ending)))  # type: ignore[arg-type]
    coordinator.load()
    coordinator.mark_all()
    assert coordinator.shard.transactions["k"].state is State.COMPLETE_ABORT


def test_a_way_that_the_table_does_not_know_is_our_own_mistake() -> None:
    done = Transaction("k", Identity(3, 4), State.COMPLETE_COMMIT, 1000, 5)
    with pytest.raises(InvariantError):
        done.to(State.PREPARE_COMMIT, 6)
    assert set(NEXT) == set(State)


def test_settings_come_from_kafkas_names() -> None:
    assert TransactionSettings().timeout_ms_max == 900_000

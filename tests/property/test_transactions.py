"""Transactions through crashes, delays and fencing: all or nothing, and what the producer was told.

The world does what networks and machines do; see `tests.rigs.transactions.world`. Every check has a bug
planted in the product that it finds.
"""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.transactions.world import IDS, Torn, World
from tidelog.base.errors import ErrorCode
from tidelog.storage.producers import producers, reused_sequences, verification
from tidelog.transactions import beginning, ending, joining, shard, transaction
from tidelog.transactions.transaction import Identity

STEPS = 150
NUMBERS_USED_AGAIN = (1035, 1041, 1205, 2635, 3056, 6992)
"""Seeds of lives in which a client of the first protocol gives a sequence number to a second record."""


def live(world: World, steps: int = STEPS) -> None:
    for _ in range(steps):
        world.step()
    world.heal()
    world.check()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_transactions_are_whole(chance: random.Random) -> None:
    live(World(chance))


@pytest.mark.parametrize("seed", NUMBERS_USED_AGAIN)
def test_a_record_with_the_number_of_an_aborted_one_is_not_lost(seed: int) -> None:
    """A record that its producer gave up arrives before the abort; the next transaction uses its number."""
    live(World(random.Random(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_long_lives(seed: int) -> None:
    world = World(random.Random(seed), versions=(2,) if seed % 2 else (0, 2))
    live(world, 600)
    assert any(txn.answer for txn in world.txns)


@pytest.mark.parametrize("seed", range(10))
def test_the_state_is_what_the_log_says(seed: int) -> None:
    world = World(random.Random(seed))
    for _ in range(STEPS):
        world.step()
        replayed = shard.TransactionShard(world.shard.settings)
        for record in world.log.records:
            replayed.replay(*record)
        assert replayed.transactions == world.shard.transactions


@pytest.mark.parametrize("seed", range(10))
def test_epochs_run_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (transaction, ending, beginning):
        monkeypatch.setattr(module, "EPOCHS_END", 4)
    for module in (ending, producers):
        monkeypatch.setattr(module, "EPOCH_MAX", 5)
    world = World(random.Random(seed))
    live(world, 400)
    assert world.producer_id > len(IDS)


# Bugs that the checks above find


def is_found(seeds: Sequence[int] = range(60), steps: int = 300) -> bool:
    for seed in seeds:
        try:
            live(World(random.Random(seed)), steps)
        except (Torn, AssertionError):
            return True
    return False


def test_without_a_bug_nothing_is_found() -> None:
    assert not is_found(range(10))


def test_markers_before_the_decision_is_committed_tear(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = shard.TransactionShard.apply

    def hasty(self, decision, now, now_ms):  # type: ignore[no-untyped-def]
        apply(self, decision, now, now_ms)
        if decision.effect is not None:
            decision.effect()

    monkeypatch.setattr(shard.TransactionShard, "apply", hasty)
    assert is_found(range(400))  # a crash has to come between marker and commit: a life in eighty


def test_a_coordinator_that_forgets_its_markers_leaves_transactions_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_loaded = shard.TransactionShard.on_loaded

    def forgetful(self, *args):  # type: ignore[no-untyped-def]
        decisions = on_loaded(self, *args)
        self.take_markers()
        return decisions

    monkeypatch.setattr(shard.TransactionShard, "on_loaded", forgetful)
    assert is_found()


def test_a_delayed_end_that_is_believed_tears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_check_producer", lambda found, request: False)
    assert is_found()


def test_one_epoch_too_few_at_fencing_lets_a_zombie_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def weak(found, now_ms, **_):  # type: ignore[no-untyped-def]
        return ending._decided(found, False, found.writer, found.client, now_ms)

    monkeypatch.setattr(ending, "fence", weak)
    monkeypatch.setattr("tidelog.transactions.beginning.fence", weak)
    assert is_found()


def test_a_write_that_nobody_verified_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification.Verifications, "check", lambda *_: None)
    assert is_found()


def test_a_guard_that_outlives_its_marker_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification.Verifications, "ended", lambda *_: None)
    assert is_found()


def test_a_delayed_marker_that_is_believed_tears(monkeypatch: pytest.MonkeyPatch) -> None:
    check = producers.Producers.check_marker
    monkeypatch.setattr(
        producers.Producers,
        "check_marker",
        lambda self, header, marker, version=0: check(self, header, marker),
    )
    assert is_found()


def test_a_number_that_is_used_again_and_taken_for_a_retry_loses_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reused_sequences, "check_reuse", lambda *_: None)
    for seed in NUMBERS_USED_AGAIN:
        assert is_found([seed], STEPS)


def test_partitions_that_join_while_markers_are_written_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(found, transactional_id, producer):  # type: ignore[no-untyped-def]
        if found is None or found.client != Identity(*producer):
            raise joining.KafkaError(ErrorCode.PRODUCER_FENCED)
        return found

    monkeypatch.setattr(joining, "checked", careless)
    assert is_found()

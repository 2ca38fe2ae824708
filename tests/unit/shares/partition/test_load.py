"""A state that is loaded in pieces is the same as one that is loaded at once, and ends with the log."""

import random

import pytest

from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.load import PIECE_RECORDS, StateLoad, in_pieces
from tidelog.shares.partition.share_partition import WAKES_A_TURN, SharePartition
from tidelog.shares.states import AT_ONCE, DeadLetterWrite, DeliveryState, ShareState, StateBatch

DONE = DeliveryState.ACKNOWLEDGED
BEGUN = DeadLetterWrite(7, 0, 0, bytes(16), 0, ((3, 3), (8, 9)))
NOW_MS = 1_000_000


def loaded(state: ShareState, log_end: int) -> StateLoad:
    load = StateLoad(state, log_end)
    load.put(state.batches)
    return load


def seen(load: StateLoad) -> tuple[object, ...]:
    share = SharePartition(load, Limits())
    states, first = [], 0
    while first < share.end_offset:
        some, first = share.record_states(first)
        states += some
        if first < 0 or not some:
            break
    counts = share.available, share.done, share.delayed, share.archiving
    delays = sorted(load.delays.within(0, 1 << 62))
    due = {(at, offset) for at, begin, last in delays for offset in range(begin, last + 1)}
    return share.start_offset, share.end_offset, counts, states, share.unsaved_version, due


def random_state(rng: random.Random) -> ShareState:
    start = at = rng.randrange(5_000)
    batches: list[StateBatch] = []
    for _ in range(rng.randrange(60)):
        first = at + rng.choice((0, 0, 0, 1, 1, 500, 3_000))
        last = first + rng.choice((0, 0, 0, 1, 700, 2_047, 2_048, 30_000))
        state = rng.choice((DONE, DONE, DONE, *DeliveryState))
        if state is DeliveryState.ACQUIRED:
            state = DeliveryState.AVAILABLE
        due = rng.choice((AT_ONCE, 2_000_000)) if state is DeliveryState.AVAILABLE else AT_ONCE
        batches.append(StateBatch(first, last, state, rng.randrange(4), due))
        at = last + 1
    return ShareState(3, start, tuple(batches))


@pytest.mark.parametrize("seed", range(40))
def test_pieces_add_up_to_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    state = random_state(rng)
    whole = loaded(state, 1 << 40)
    pieces = StateLoad(state._replace(batches=()), 1 << 40)
    rest = list(in_pieces(state.batches))
    assert all(one.last_offset - one.first_offset < PIECE_RECORDS for one in rest)
    while rest:
        count = rng.choice((1, 2, 30))
        pieces.put(rest[:count])
        del rest[:count]
    done = sum(one.last_offset - one.first_offset + 1 for one in state.batches if one.state.is_done)
    assert whole.done == pieces.done == done
    assert seen(whole) == seen(pieces)


def test_a_state_beyond_the_end_of_the_log_ends_with_it() -> None:
    """After an unclean election the records are gone, and others get their offsets."""
    state = ShareState(
        1, 4, (StateBatch(5, 5, DONE, 1), StateBatch(6, 9, DONE, 1), StateBatch(10, 11, DONE, 1))
    )
    assert not loaded(state, 12).is_beyond_log
    cut = loaded(state, 8)
    assert cut.is_beyond_log
    assert (cut.state.start_offset, cut.window.end, cut.done) == (4, 8, 3)
    cut = loaded(state, 2)
    assert cut.is_beyond_log
    assert (cut.state.start_offset, cut.window.end, cut.done) == (2, 2, 0)


def test_a_begun_write_of_dead_letters_goes_with_records_that_an_unclean_election_lost() -> None:
    state = ShareState(1, 2, (StateBatch(3, 9, DeliveryState.ARCHIVING, 2),), BEGUN)
    assert loaded(state, 10).state.dead_letters is BEGUN
    lost = loaded(state, 9)
    assert lost.state.dead_letters is None  # others will have the offset 9, and are no dead letters
    assert lost.is_beyond_log
    assert lost.window.archiving == 6


def test_many_records_that_are_due_at_once_wake_in_pieces() -> None:
    count = 2 * WAKES_A_TURN + 5
    due = [StateBatch(2 * n, 2 * n, DeliveryState.AVAILABLE, 1, NOW_MS) for n in range(count)]
    share = SharePartition(ShareState(0, 0, tuple(due)), Limits())
    left = []
    while share.wake(NOW_MS):
        left.append(share.delayed)
    assert left == [count - WAKES_A_TURN, 5]
    assert share.delayed == 0

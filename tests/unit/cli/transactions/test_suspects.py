"""Which open transactions hang, and which only look like it."""

from typing import Any

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.moments import span_text
from tidelog.cli.transactions.abort import chosen_transaction
from tidelog.cli.transactions.calls import Described
from tidelog.cli.transactions.producer_states import ProducerState
from tidelog.cli.transactions.suspects import Why, suspects, verdict
from tidelog.clients.records import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
NOW_MS, TIMEOUT_MS, GRACE_MS = 10_000_000, 60_000, 5_000


def state(place: TopicPartition = A, producer_id: int = 7, open_since: int | None = 40) -> ProducerState:
    return ProducerState(place, producer_id, 0, 5, NOW_MS - 1, None, open_since)


def transaction(*places: TopicPartition, open_for_ms: int | None = 100, **changes: Any) -> Described:
    started = None if open_for_ms is None else NOW_MS - open_for_ms
    return Described("id", "Ongoing", 7, 0, TIMEOUT_MS, started, places, 1, **changes)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, Why.UNKNOWN),
        (transaction(), Why.LEFT_OUT),
        (transaction(B), Why.LEFT_OUT),
        (transaction(B, A), None),
        (transaction(A, open_for_ms=TIMEOUT_MS + GRACE_MS), None),
        (transaction(A, open_for_ms=TIMEOUT_MS + GRACE_MS + 1), Why.OVERDUE),
        (transaction(open_for_ms=None), Why.LEFT_OUT),
    ],
)
def test_verdict(known: Described | None, expected: Why | None) -> None:
    assert verdict(state(), known, NOW_MS, GRACE_MS) is expected


def test_only_what_was_open_all_the_time_hangs() -> None:
    before = [state(A, 1), state(A, 2), state(A, 3), state(B, 4), state(B, 5, None)]
    after = [state(A, 1), state(A, 2, None), state(A, 3, 99), state(B, 5, 7)]
    found = suspects(before, {}, after, now_ms=NOW_MS, grace_ms=GRACE_MS)
    assert [(one.state.place, one.state.producer_id) for one in found] == [(A, 1)]


def test_who_ends_it() -> None:
    known = {7: transaction(A, open_for_ms=10 * TIMEOUT_MS)}
    overdue, unknown = suspects(
        [state(), state(B, 8)], known, [state(), state(B, 8)], now_ms=NOW_MS, grace_ms=GRACE_MS
    )
    assert (overdue.why, overdue.needs_marker) == (Why.OVERDUE, False)
    assert (unknown.why, unknown.needs_marker) == (Why.UNKNOWN, True)
    assert overdue.as_json()["transactional_id"] == "id"
    assert unknown.as_json()["why"] == "unknown"


OPEN = [state(A, 1, 10), state(A, 2, 20), state(A, 3, None)]


@pytest.mark.parametrize(
    ("producer_id", "start_offset", "expected"), [(1, None, 1), (None, 20, 2), (2, 20, 2)]
)
def test_the_one_that_is_meant(producer_id: int | None, start_offset: int | None, expected: int) -> None:
    assert chosen_transaction(OPEN, "t[0]", producer_id, start_offset).producer_id == expected


def test_the_only_one_needs_no_name() -> None:
    assert chosen_transaction([state(A, 1, 10), state(A, 3, None)], "t[0]", None, None).producer_id == 1


@pytest.mark.parametrize(
    ("states", "producer_id", "code"),
    [(OPEN, None, Exit.USAGE), (OPEN, 3, Exit.NOT_FOUND), ([state(A, 3, None)], None, Exit.NOT_FOUND)],
)
def test_none_or_several(states: list[ProducerState], producer_id: int | None, code: Exit) -> None:
    with pytest.raises(CliError) as raised:
        chosen_transaction(states, "t[0]", producer_id, None)
    assert raised.value.code is code


@pytest.mark.parametrize(
    ("span_ms", "shown"),
    [
        (-5, "0 ms"),
        (850, "850 ms"),
        (12_900, "12 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (7_500_000, "2 h 5 min"),
        (273_600_000, "3 d 4 h"),
    ],
)
def test_spans(span_ms: int, shown: str) -> None:
    assert span_text(span_ms) == shown

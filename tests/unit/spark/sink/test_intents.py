"""What becomes of a batch, for every state in which a crash can leave it."""

import msgspec
import pytest

from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.spark.sink.intents import (
    Course,
    Intent,
    Participant,
    UnknownIntent,
    decode,
    encode,
    is_written_already,
    lost_batch,
    plan_abort,
    plan_commit,
    strays,
)

A = Participant("a", ProducerIdentity(1, 4), ProducerIdentity(1, 4))
B = Participant("b", ProducerIdentity(2, 0), ProducerIdentity(2, 0))
A_TAKEN_OVER = Participant("a", ProducerIdentity(1, 4), ProducerIdentity(1, 5))
A_LATER = Participant("a", ProducerIdentity(1, 8), ProducerIdentity(1, 8))


def decided(batch: int, *participants: Participant, is_prepared: bool = True) -> Intent:
    return Intent("q", batch, participants, is_prepared)


@pytest.mark.parametrize(
    ("known", "written", "expected"),
    [
        (None, [A, B], (Course.DECIDE, [A, B], [])),
        (decided(6, A, B), [A_LATER], (Course.DECIDE, [A_LATER], [])),
        (decided(7, A_TAKEN_OVER, B), [], (Course.FINISH, [A_TAKEN_OVER, B], [])),
        (decided(7, A_TAKEN_OVER, B), [A, B], (Course.FINISH, [A_TAKEN_OVER, B], [])),
        (decided(7, A_TAKEN_OVER), [B], (Course.FINISH, [A_TAKEN_OVER], [B])),
        (decided(7, A_TAKEN_OVER), [A_LATER], (Course.FINISH, [A_TAKEN_OVER], [A_LATER])),
        (decided(8, A), [B], (Course.PASSED, [A], [B])),
    ],
)
def test_a_commit(known: Intent | None, written: list[Participant], expected: object) -> None:
    plan = plan_commit(known, 7, written)
    assert (plan.course, list(plan.commit), list(plan.abort)) == expected


@pytest.mark.parametrize(
    ("known", "written", "expected"),
    [
        (None, [A, B], (Course.DECIDE, [], [A, B])),
        (decided(6, A), [A_LATER], (Course.DECIDE, [], [A_LATER])),
        # The commit failed after its decision, and Spark aborts: what was decided stays so.
        (decided(7, A_TAKEN_OVER, B), [A, B], (Course.FINISH, [A_TAKEN_OVER, B], [])),
        (decided(7, A_TAKEN_OVER), [A_LATER, B], (Course.FINISH, [A_TAKEN_OVER], [A_LATER, B])),
        (decided(9, B), [A], (Course.PASSED, [B], [A])),
    ],
)
def test_an_abort(known: Intent | None, written: list[Participant], expected: object) -> None:
    plan = plan_abort(known, 7, written)
    assert (plan.course, list(plan.commit), list(plan.abort)) == expected


@pytest.mark.parametrize(("known", "is_written"), [(None, False), (6, False), (7, True), (8, True)])
def test_a_task_writes_only_what_was_not_decided(known: int | None, is_written: bool) -> None:
    intent = None if known is None else decided(known, A)
    assert is_written_already(intent, 7) is is_written


def test_strays_are_open_and_in_no_intent() -> None:
    open_ = {"a": A.writer, "b": B.writer}
    assert strays(open_, None) == [("a", A.writer), ("b", B.writer)]
    assert strays(open_, decided(7, A_TAKEN_OVER)) == [("b", B.writer)]
    again = {"a": A_LATER.writer}
    assert strays(again, decided(7, A_TAKEN_OVER)) == [("a", A_LATER.writer)], "the id was used again since"
    assert strays({}, decided(7, A)) == []


def test_an_intent_survives_the_log() -> None:
    intent = decided(3, A_TAKEN_OVER, B)
    assert decode(encode(intent)) == intent


def test_an_intent_of_a_later_version_is_not_guessed_at() -> None:
    later = msgspec.json.encode(msgspec.structs.replace(decided(3, A), version=2))
    with pytest.raises(UnknownIntent, match="version 2"):
        decode(later)
    with pytest.raises(UnknownIntent, match="cannot be read"):
        decode(b"{}")


def test_a_lost_batch_is_told_with_its_cause_and_remedy() -> None:
    text = lost_batch(decided(3, A, B, is_prepared=False), [B])
    for part in ("batch 3 of query q", "1 of its 2", "(b)", "transaction.timeout.ms", "lostTransactions"):
        assert part in text

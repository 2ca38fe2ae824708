"""Each check of share groups flags a history written by hand for it, and none flags what is legal."""

import pytest

from tidelog.shares.states import AckType
from tidelog.testing.checks.shares.dead_letters import EXHAUSTED, REJECTED
from tidelog.testing.history import Completion, History, Operation, Sent
from tidelog.testing.share_checkers import check_shares
from tidelog.testing.share_history import (
    Ack,
    Acknowledge,
    GroupEnd,
    LogStart,
    ShareEvent,
    ShareGroupPlan,
    ShareHistory,
    Stored,
    Take,
    Taken,
)

PLAN = ShareGroupPlan("g", delivery_limit=3, lock_ms=10_000, locks_max=3)
WITH_LETTERS = ShareGroupPlan(
    "g", delivery_limit=3, lock_ms=10_000, locks_max=3, dead_letter_topic="dlq.g", dead_letter_partitions=1
)
COMMITTED = ShareGroupPlan("g", delivery_limit=3, lock_ms=10_000, locks_max=3, committed_only=True)
BACKING_OFF = ShareGroupPlan(
    "g", delivery_limit=3, lock_ms=10_000, locks_max=3, backoff_ms=500, backoff_max_ms=1_000
)
NARROW = ShareGroupPlan("g", delivery_limit=3, lock_ms=10_000, locks_max=2)
SENDS = [
    Operation(
        "p", "send", sent=[Sent("t-0", "a", 0), Sent("t-0", "b", 1), Sent("t-0", "c", 2, due_ms=5_000)]
    ),
    Operation("x", "txn", Completion.FAIL, sent=[Sent("t-0", "taken back", 3)]),
]
GONE = Ack("t-0", 1, AckType.ACCEPT, 1, Completion.FAIL, error="SHARE_SESSION_NOT_FOUND")
VALUES = ["a", "b", "c", "taken back"]
OPEN = GroupEnd("g", "t-0", 0, 0)


def take(
    member: str,
    at: float,
    *offsets: int,
    count: int = 1,
    epoch: int = 1,
    values: list[str] = VALUES,
    outcome: Completion = Completion.OK,
    clock_ms: int = 1_000_000,
) -> Take:
    records = [Taken("t-0", offset, values[offset], count, epoch) for offset in offsets]
    return Take(
        "g", member, f"{member} to n1", at, at + 0.1, outcome, "n1.1", clock_ms=clock_ms, records=records
    )


def ack(
    type: AckType,
    member: str,
    at: float,
    *offsets: int,
    count: int = 1,
    epoch: int = 1,
    outcome: Completion = Completion.OK,
    delay_ms: int = -1,
    clock_ms: int = 0,
) -> Acknowledge:
    acks = [Ack("t-0", offset, type, count, outcome, delay_ms, epoch) for offset in offsets]
    return Acknowledge("g", member, f"{member} to n1", at, at + 0.1, "n1.1", clock_ms, acks)


def end(start_offset: int = 3) -> GroupEnd:
    return GroupEnd("g", "t-0", start_offset, 3)


def letter(offset: int, value: str, message: str, count: object = 1, **more: str) -> Stored:
    headers = {
        "topic": "t",
        "partition": "0",
        "offset": str(offset),
        "group": "g",
        "delivery.count": str(count),
        "message": message,
    }
    place = more.pop("place", "dlq.g-0")
    return Stored(
        place, 0, value, [(f"__dlq.errors.{name}", text) for name, text in (headers | more).items()]
    )


ACCEPT, RELEASE, REJECT, RENEW = AckType.ACCEPT, AckType.RELEASE, AckType.REJECT, AckType.RENEW
INFO, FAIL = Completion.INFO, Completion.FAIL
ALL_DONE: list[ShareEvent] = [take("m", 1, 0, 1, 2), ack(ACCEPT, "m", 2, 0, 1, 2)]

BROKEN: dict[str, list[ShareEvent]] = {
    "delivered again": [take("m", 1, 0), ack(ACCEPT, "m", 2, 0), take("n", 3, 0, count=2)],
    "delivered again: after a reject, by a later leader": [
        take("m", 1, 0),
        ack(REJECT, "m", 2, 0),
        take("n", 3, 0, epoch=2),
    ],
    "wrong value": [take("m", 1, 0, values=["b"])],
    "wrong value: never sent": [take("m", 1, 0, values=["z"])],
    "aborted delivery": [COMMITTED, take("m", 1, 3)],
    "delivery count: the same twice": [take("m", 1, 0), ack(RELEASE, "m", 2, 0), take("n", 3, 0)],
    "delivery count: goes back": [take("m", 1, 0, count=2), take("n", 30, 0, count=1)],
    "delivery count: a saved release is forgotten by the next leader": [
        take("m", 1, 0, count=2),
        ack(RELEASE, "m", 2, 0, count=2),
        take("n", 3, 0, count=2, epoch=2),
    ],
    "delivery count: above the limit": [take("m", 1, 0, count=4)],
    "two holders": [take("m", 1, 0), take("n", 3, 0, count=2), take("m", 5)],
    "two holders: after a renewal": [
        take("m", 1, 0),
        ack(RENEW, "m", 7, 0),
        take("n", 13, 0, count=2),
        take("m", 14),
    ],
    "foreign acknowledgement": [take("m", 1, 0), ack(ACCEPT, "n", 2, 0, count=0), take("m", 5)],
    "too many locks": [NARROW, take("m", 1, 0, 1), take("n", 1, 2), take("m", 3), take("n", 3)],
    "unfinished": [*ALL_DONE, end(2)],
    "lost record": [take("m", 1, 0, 1), ack(ACCEPT, "m", 2, 0, 1), end()],
    "lost record: though delivered": [take("m", 1, 0, 1, 2), ack(ACCEPT, "m", 2, 0, 1), end()],
    "lost record: its acknowledgement was refused": [
        take("m", 1, 0, 1, 2),
        ack(ACCEPT, "m", 2, 0, 1),
        ack(ACCEPT, "m", 20, 2, outcome=FAIL),
        end(),
    ],
    "deleted too early": [*ALL_DONE, LogStart("t-0", 1, 1.5)],
    "deleted too early: of an idle group": [take("m", -1), LogStart("t-0", 1, 1.5), OPEN],
    "early delivery": [take("m", 1, 2, clock_ms=4_999)],
    "early retry": [
        take("m", 1, 0),
        ack(RELEASE, "m", 2, 0, delay_ms=500, clock_ms=2_000),
        take("m", 2.2, 0, count=2, clock_ms=2_499),
    ],
    "early retry: of the group's backoff": [
        BACKING_OFF,
        take("m", 1, 0, count=2),
        ack(RELEASE, "m", 2, 0, count=2, clock_ms=2_000),
        take("m", 2.8, 0, count=3, clock_ms=2_999),
    ],
    "dead letter: none": [
        WITH_LETTERS,
        take("m", 1, 0, 1, 2),
        ack(ACCEPT, "m", 2, 0, 1),
        ack(REJECT, "m", 2, 2),
        end(),
    ],
    "dead letter: twice": [
        WITH_LETTERS,
        take("m", 1, 0),
        ack(REJECT, "m", 2, 0),
        *[letter(0, "a", REJECTED)] * 2,
    ],
    "dead letter: another value": [
        WITH_LETTERS,
        take("m", 1, 0),
        ack(REJECT, "m", 2, 0),
        letter(0, "b", REJECTED),
    ],
    "dead letter: accepted": [
        WITH_LETTERS,
        take("m", 1, 0),
        ack(ACCEPT, "m", 2, 0),
        letter(0, "a", REJECTED),
    ],
    "dead letter: without a reason": [WITH_LETTERS, take("m", 1, 0), letter(0, "a", EXHAUSTED, 3)],
    "dead letter: another reason": [
        WITH_LETTERS,
        take("m", 1, 0, count=3),
        letter(0, "a", REJECTED, 3),
    ],
    "dead letter: a count below the limit": [
        WITH_LETTERS,
        take("m", 1, 0, count=3),
        letter(0, "a", EXHAUSTED, 2),
    ],
    "dead letter: no count": [
        WITH_LETTERS,
        take("m", 1, 0),
        ack(REJECT, "m", 2, 0),
        letter(0, "a", REJECTED, ""),
    ],
    "dead letter: no source": [WITH_LETTERS, letter(0, "a", REJECTED, group="")],
    "dead letter: another partition": [
        WITH_LETTERS,
        take("m", 1, 0),
        ack(REJECT, "m", 2, 0),
        letter(0, "a", REJECTED, place="dlq.g-1"),
    ],
}

LEGAL: dict[str, list[ShareEvent]] = {
    "an acknowledgement below the start offset": [
        WITH_LETTERS,
        take("m", 1, 0, 1, 2),
        ack(REJECT, "m", 2, 0),
        ack(ACCEPT, "m", 3, 0, count=0),
        ack(ACCEPT, "m", 3, 1, 2),
        letter(0, "a", REJECTED),
    ],
    "deleted before the group's first fetch": [
        LogStart("t-0", 1, 0.5),
        take("m", 1, 1),
        GroupEnd("g", "t-0", 1, 1),
    ],
    "a plain run": [*ALL_DONE, end(), LogStart("t-0", 3, 9.0)],
    "a retry": [
        take("m", 1, 0),
        ack(RELEASE, "m", 2, 0),
        take("n", 3, 0, count=2),
        ack(ACCEPT, "n", 4, 0, count=2),
    ],
    "a lock that ended": [take("m", 1, 0), take("n", 12, 0, count=2), take("m", 13)],
    "a member whose connection broke": [take("m", 1, 0), take("n", 3, 0, count=2)],
    "an acknowledgement that was refused": [
        take("m", 1, 0),
        ack(ACCEPT, "n", 2, 0, count=0, outcome=FAIL),
        take("n", 12, 0, count=2),
    ],
    "an acknowledgement without an answer": [
        take("m", 1, 0),
        ack(ACCEPT, "m", 2, 0, outcome=INFO),
        take("n", 3, 0, count=2),
    ],
    "another leader does not know of the last delivery": [take("m", 1, 0), take("n", 2, 0, epoch=2)],
    "a replaced leader delivers what its successor holds back": [
        take("m", 1, 0, epoch=2),
        ack(RELEASE, "m", 2, 0, epoch=2, delay_ms=500, clock_ms=2_000),
        take("n", 2.2, 0, count=2, epoch=1, clock_ms=2_200),
    ],
    "a replaced leader delivers what its successor finished": [
        take("m", 1, 0, epoch=2),
        ack(ACCEPT, "m", 2, 0, epoch=2),
        take("n", 3, 0, epoch=1),
    ],
    "a fetch that began before the acknowledgement ended": [
        take("n", 1.05, 0, count=1),
        take("m", 1, 0, count=2),
        ack(ACCEPT, "m", 1.1, 0, count=2),
    ],
    "delivered as often as the limit allows": [
        take("m", 1, 1, 2),
        ack(ACCEPT, "m", 2, 1, 2),
        take("m", 3, 0, count=3),
        end(),
    ],
    "deliveries without an answer": [
        take("m", 1, 1, 2),
        ack(ACCEPT, "m", 2, 1, 2),
        take("m", 3, 0),
        take("m", 20, outcome=INFO),
        take("m", 40, outcome=INFO),
        end(),
    ],
    "a scheduled record in its time": [take("m", 1, 2, clock_ms=5_000)],
    "a group that reads what is taken back": [take("m", 1, 3)],
    "dead letters": [
        WITH_LETTERS,
        take("m", 1, 0, 1),
        ack(REJECT, "m", 2, 0),
        ack(ACCEPT, "m", 2, 1),
        take("m", 3, 2, count=3),
        end(),
        letter(0, "a", REJECTED),
        letter(2, "c", EXHAUSTED, 3),
    ],
    "an acceptance of a record that was given up": [
        WITH_LETTERS,
        take("m", 1, 0, count=3),
        take("m", 1, 1, 2),
        ack(ACCEPT, "m", 2, 1, 2),
        ack(ACCEPT, "m", 15, 0, count=3),
        end(),
        letter(0, "a", EXHAUSTED, 3),
    ],
    "a renewal of a record that was given up": [
        WITH_LETTERS,
        take("m", 1, 0, count=3),
        take("m", 1, 1, 2),
        ack(ACCEPT, "m", 2, 1, 2),
        ack(RENEW, "m", 15, 0, count=3),
        ack(ACCEPT, "m", 16, 0, count=3),
        end(),
        letter(0, "a", EXHAUSTED, 3),
    ],
    "a refusal of a broker without the session": [
        take("m", 1, 0),
        take("n", 3, 0, count=2),
        Acknowledge("g", "m", "m to n1", 5, 5.1, "n1.1", acks=[GONE]),
    ],
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    rule = name.partition(":")[0]
    shares = ShareHistory([PLAN, *BROKEN[name]])
    assert {anomaly.rule for anomaly in check_shares(History(SENDS), shares)} == {rule}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_not_flagged(name: str) -> None:
    assert check_shares(History(SENDS), ShareHistory([PLAN, *LEGAL[name]])) == []


def test_a_history_survives_a_file() -> None:
    shares = ShareHistory([PLAN, *(event for events in BROKEN.values() for event in events), OPEN])
    again = ShareHistory.from_lines(shares.to_lines())
    assert again.events == shares.events

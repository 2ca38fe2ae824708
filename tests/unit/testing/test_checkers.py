"""Each check flags a history written by hand for it, and none flags what is legal."""

import pytest

from tidelog.testing.checkers import check, realtime_lag
from tidelog.testing.history import Completion, History, Operation, Read, Sent


def send(
    process: str, value: str, offset: int | None, *, partition: str = "t-0", **more: object
) -> Operation:
    return Operation(process, "send", sent=[Sent(partition, value, offset)], **more)  # type: ignore[arg-type]


def poll(process: str, *read: tuple[int, str], partition: str = "t-0", **more: object) -> Operation:
    return Operation(
        process,
        "poll",
        read=[Read(partition, offset, value) for offset, value in read],
        **more,  # type: ignore[arg-type]
    )


def txn(process: str, outcome: str = "ok", *, sent: list[Sent] = [], read: list[Read] = []) -> Operation:  # noqa: B006
    return Operation(process, "txn", Completion(outcome), sent=sent, read=read, committed_only=True)


def assign(process: str) -> Operation:
    return Operation(process, "assign")


FINAL = Operation("c", "final")
ABC = [send("p", "a", 0), send("p", "b", 1), send("p", "c", 2)]

BROKEN = {
    "inconsistent offsets": [poll("c", (0, "a")), poll("d", (0, "b"))],
    "inconsistent offsets of a send": [send("p", "a", 0), poll("d", (0, "b"))],
    "duplicate": [send("p", "a", 0), poll("c", (0, "a"), (1, "a"))],
    "duplicate of a retry": [send("p", "a", 3), poll("c", (0, "a"))],
    "aborted read": [send("p", "a", None, outcome=Completion.FAIL), poll("c", (0, "a"))],
    "aborted read of a transaction": [
        txn("p", "fail", sent=[Sent("t-0", "a", 0)]),
        poll("c", (0, "a"), committed_only=True),
    ],
    "lost write": [*ABC, poll("c", (0, "a")), assign("c"), poll("c", (2, "c"))],
    "lost write of an unknown outcome": [
        Operation("p", "send", Completion.INFO, sent=[Sent("t-0", "a", 0), Sent("t-0", "b", 1)]),
        poll("c", (1, "b")),
    ],
    "lost write of a transaction that was seen to be committed": [
        txn("p", "info", sent=[Sent("t-0", "a", 0), Sent("t-1", "b", 0)]),
        poll("c", (0, "a"), committed_only=True),
        poll("c", (1, "z"), partition="t-1", committed_only=True),
    ],
    "unseen": [*ABC, poll("c", (0, "a"), (1, "b")), FINAL],
    "poll skip": [*ABC, poll("c", (0, "a")), poll("c", (2, "c")), poll("d", (1, "b"))],
    "internal poll skip": [*ABC, poll("c", (0, "a"), (2, "c")), poll("d", (1, "b"))],
    "non-monotonic poll": [*ABC[:2], poll("c", (0, "a"), (1, "b")), poll("c", (0, "a"))],
    "internal non-monotonic poll": [*ABC[:2], poll("c", (1, "b"), (0, "a"))],
    "non-monotonic send": [
        send("p", "a", 1, started=1.0),
        send("p", "b", 0, started=2.0),
        poll("c", (0, "b"), (1, "a")),
    ],
    "internal non-monotonic send": [
        Operation("p", "send", sent=[Sent("t-0", "a", 1), Sent("t-0", "b", 0)]),
        poll("c", (0, "b"), (1, "a")),
    ],
    "torn transaction": [
        txn("p", "info", sent=[Sent("t-0", "a", 0), Sent("t-1", "b", 0)]),
        send("q", "x", 1, partition="t-1"),
        poll("c", (0, "a"), committed_only=True),
        poll("c", (1, "x"), partition="t-1", committed_only=True),
    ],
    "G1c": [
        txn("p", sent=[Sent("t-0", "a", 0)], read=[Read("t-1", 0, "b")]),
        txn("q", sent=[Sent("t-1", "b", 0)], read=[Read("t-0", 0, "a")]),
    ],
}

LEGAL = {
    "a transaction that was seen while it was open, and then taken back": [
        txn("p", "info", sent=[Sent("t-0", "a", 0), Sent("t-1", "b", 0)]),
        poll("c", (0, "a")),
        poll("d", (1, "z"), partition="t-1", committed_only=True),
    ],
    "a plain run": [*ABC, poll("c", (0, "a"), (1, "b")), poll("c", (2, "c")), FINAL],
    "gaps in offsets": [
        send("p", "a", 0),
        send("p", "b", 7),
        poll("c", (0, "a")),
        poll("c", (7, "b")),
        FINAL,
    ],
    "an unknown send that was written": [
        send("p", "a", None, outcome=Completion.INFO),
        poll("c", (0, "a")),
        FINAL,
    ],
    "an unknown send that was not written": [send("p", "a", None, outcome=Completion.INFO), FINAL],
    "a record with acks=1 that a new leader never had": [
        send("p", "a", 0, acks=1),
        send("p", "b", 0, acks=1),
        poll("c", (0, "b")),
        FINAL,
    ],
    "a retry without idempotence": [
        send("p", "a", 1, idempotent=False),
        poll("c", (0, "a"), (1, "a")),
        FINAL,
    ],
    "a skip over a reassignment": [
        *ABC,
        poll("c", (0, "a")),
        assign("c"),
        poll("c", (2, "c")),
        poll("d", (1, "b")),
        FINAL,
    ],
    "a repeat over a rebalance": [
        *ABC[:1],
        poll("c", (0, "a")),
        Operation("c", "subscribe"),
        poll("c", (0, "a")),
        FINAL,
    ],
    "what is not read yet": [*ABC, poll("c", (0, "a"))],
    "aborted data, seen by who asks for it": [
        txn("p", "fail", sent=[Sent("t-0", "a", 0)]),
        send("p", "b", 2),
        poll("c", (0, "a"), (2, "b")),
        poll("d", (2, "b"), committed_only=True),
        FINAL,
    ],
    "aborted data between two reads": [
        send("p", "a", 0),
        txn("q", "fail", sent=[Sent("t-0", "x", 1)]),
        send("p", "b", 2),
        poll("u", (0, "a"), (1, "x"), (2, "b")),
        poll("c", (0, "a"), (2, "b"), committed_only=True),
        FINAL,
    ],
    "transactions that read from each other in turn": [
        txn("p", sent=[Sent("t-0", "a", 0)]),
        txn("q", sent=[Sent("t-1", "b", 0)], read=[Read("t-0", 0, "a")]),
        txn("p", read=[Read("t-1", 0, "b")]),
        FINAL,
    ],
    "a transaction that reads again after it failed": [
        send("s", "a", 0),
        txn("p", "fail", read=[Read("t-0", 0, "a")]),
        txn("p", read=[Read("t-0", 0, "a")]),
        FINAL,
    ],
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    rule = name.partition(" of ")[0]
    found = {anomaly.rule for anomaly in check(History(BROKEN[name]))}
    assert rule in found


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_not_flagged(name: str) -> None:
    assert check(History(LEGAL[name])) == []


def test_a_history_survives_a_file() -> None:
    history = History([*ABC, poll("c", (0, "a")), *BROKEN["G1c"]])
    again = History.from_lines(history.to_lines())
    assert again.operations == history.operations
    assert check(again) == check(history)


def test_the_lag_is_that_of_the_slowest_record() -> None:
    history = History(
        [
            send("p", "a", 0, ended=1.0),
            send("p", "b", 1, ended=2.0),
            poll("c", (0, "a"), (1, "b"), ended=5.0),
            poll("d", (0, "a"), ended=1.5),
        ]
    )
    assert realtime_lag(history) == 3.0

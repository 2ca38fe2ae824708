"""States of single records: as the leader says, then by headers and the topic's delay, as at the broker."""

import pytest

from tidelog.cli.queue.record_states import RecordState, RecordStates, due_time
from tidelog.shares.schedule.due_times import TopicDelay, due_times
from tidelog.shares.states import DeliveryState, StateBatch
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record, write_batch

NOW_MS = 10_000_000
YEAR_MS = 366 * 86_400_000
STATES = RecordStates(
    10,
    [
        StateBatch(12, 13, DeliveryState.ACKNOWLEDGED, 1),
        StateBatch(14, 14, DeliveryState.AVAILABLE, 2, NOW_MS + 5_000),
        StateBatch(15, 15, DeliveryState.AVAILABLE, 3, NOW_MS - 5_000),
        StateBatch(17, 18, DeliveryState.ACQUIRED, 1),
        StateBatch(20, 29, DeliveryState.ARCHIVING, 5),
    ],
    TopicDelay(),
)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (9, RecordState("done")),
        (10, RecordState("available", 0)),
        (12, RecordState("done", 1)),
        (13, RecordState("done", 1)),
        (14, RecordState("delayed", 2, NOW_MS + 5_000)),
        (15, RecordState("available", 3)),
        (16, RecordState("available", 0)),
        (18, RecordState("in flight", 1)),
        (19, RecordState("available", 0)),
        (29, RecordState("dying", 5)),
        (30, RecordState("available", 0)),
    ],
)
def test_told_states(offset: int, expected: RecordState) -> None:
    assert STATES.of(offset, NOW_MS, [], NOW_MS) == expected


def test_a_scheduled_record() -> None:
    found = STATES.of(30, NOW_MS, [("tidelog-delay", b"2500")], NOW_MS)
    assert found == RecordState("scheduled", 0, NOW_MS + 2_500)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("tidelog-delay", b"500")],
        [("tidelog-delay", b"x")],
        [("tidelog-delay", None)],
        [("tidelog-deliver-at", b"%d" % (NOW_MS + 9))],
        [("tidelog-deliver-at", b"%d" % (NOW_MS + 9)), ("tidelog-delay", b"1000")],
        [("tidelog-deliver-at", b"%d" % (NOW_MS + 2 * YEAR_MS))],
        [("tidelog-deliver-at", b"%d" % (NOW_MS + 2 * YEAR_MS)), ("tidelog-delay", b"7")],
        [("tidelog-delay", b"1"), ("tidelog-delay", b"900")],
    ],
)
@pytest.mark.parametrize("delay", [TopicDelay(), TopicDelay(300), TopicDelay(300, reads_headers=False)])
def test_due_times_are_those_of_the_broker(
    headers: list[tuple[str, bytes | None]], delay: TopicDelay
) -> None:
    batch = write_batch([Record(0, NOW_MS, b"k", b"v", headers)])
    later = due_times(batch, read_header(batch), delay, NOW_MS).later
    expected = later[0].due_ms if later else NOW_MS
    assert max(NOW_MS, due_time(NOW_MS, headers, delay, NOW_MS)) == expected

"""The last committed value of a key, through transactions, aborts, other writers and compaction."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.spark.sink.committed_value import CommittedValue
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch

KEY = b"query"


class Log:
    """Batches as a broker would keep them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.end = 0

    def write(self, producer: int, value: bytes | None, key: bytes = KEY) -> int:
        offset = self.end
        self.data += write_batch(
            [Record(offset, 0, key, value)],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            transactional=producer >= 0,
        )
        self.end += 1
        return offset

    def mark(self, producer: int, kind: ControlType) -> None:
        self.data += write_control_batch(
            kind,
            producer_id=producer,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=0,
            base_offset=self.end,
        )
        self.end += 1

    def value(self, stable: int = 0) -> bytes | None:
        found = CommittedValue(KEY)
        found.read(self.data)
        assert found.next_offset == self.end
        return found.finish(stable)


def test_only_what_was_committed_counts() -> None:
    log = Log()
    assert log.value() is None
    log.write(1, b"one")
    assert log.value() is None, "still open"
    log.mark(1, ControlType.COMMIT)
    assert log.value() == b"one"
    log.write(2, b"two")
    log.mark(2, ControlType.ABORT)
    assert log.value() == b"one"


def test_other_queries_are_left_alone() -> None:
    log = Log()
    log.write(1, b"mine")
    log.write(2, b"theirs", key=b"other")
    log.mark(2, ControlType.COMMIT)
    assert log.value() is None
    log.mark(1, ControlType.COMMIT)
    assert log.value() == b"mine"


def test_a_tombstone_forgets() -> None:
    log = Log()
    log.write(-1, b"plain")
    assert log.value() == b"plain"
    log.write(-1, None)
    assert log.value() is None


def test_what_lost_its_marker_to_compaction_was_committed() -> None:
    log = Log()
    offset = log.write(1, b"one")
    log.write(2, b"open")
    assert log.value(stable=offset + 1) == b"one"


def test_a_fetch_may_begin_before_what_was_asked_for() -> None:
    log = Log()
    log.write(1, b"one")
    log.mark(1, ControlType.COMMIT)
    found = CommittedValue(KEY)
    found.read(log.data)
    found.read(log.data)
    assert found.finish(0) == b"one"


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["write", "commit", "abort"])), max_size=20))
def test_it_agrees_with_a_plain_reading(steps: list[tuple[int, str]]) -> None:
    log, pending, committed = Log(), dict[int, int](), [-1]
    for number, (producer, step) in enumerate(steps):
        if step == "write":
            log.write(producer, str(number).encode())
            pending[producer] = number
        else:
            log.mark(producer, ControlType.COMMIT if step == "commit" else ControlType.ABORT)
            if step == "commit" and producer in pending:
                committed.append(pending[producer])
            pending.pop(producer, None)
    expected = None if max(committed) < 0 else str(max(committed)).encode()
    assert log.value() == expected

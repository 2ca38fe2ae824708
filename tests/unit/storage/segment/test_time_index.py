import pytest

from tidelog.storage.segment.offset_index import CorruptIndex
from tidelog.storage.segment.time_index import TimeIndex


def index_of(*entries: tuple[int, int], base: int = 100) -> TimeIndex:
    index = TimeIndex(base)
    for timestamp, offset in entries:
        index.add(timestamp, offset)
    return index


def test_only_larger_timestamps_are_added() -> None:
    index = index_of((1000, 105), (1000, 110), (900, 112), (1001, 113))
    assert index.dump() == index_of((1000, 105), (1001, 113)).dump()


def test_below_names_an_offset_up_to_which_nothing_is_as_new() -> None:
    index = index_of((1000, 105), (2000, 110))
    assert index.entry_below(500) is None
    assert index.entry_below(1000) is None
    assert index.entry_below(1001) == (1000, 105)
    assert index.entry_below(9999) == (2000, 110)


def test_is_written_as_kafka_writes_it() -> None:
    assert index_of((1000, 105)).dump() == bytes.fromhex("00000000000003e8 00000005")


def test_last_entry_from_the_last_bytes_of_a_file() -> None:
    raw = index_of((1000, 105), (2000, 110)).dump()
    assert TimeIndex.read_last(100, raw[-12:]) == (2000, 110)
    assert TimeIndex.read_last(100, b"") == (-1, 100)
    with pytest.raises(CorruptIndex):
        TimeIndex.read_last(100, b"\xff" * 12)


@pytest.mark.parametrize("raw", [bytes(5), index_of((5, 101)).dump() + index_of((4, 102)).dump()])
def test_refuses_what_cannot_be_an_index(raw: bytes) -> None:
    with pytest.raises(CorruptIndex):
        TimeIndex.load(100, raw)


def test_truncation_forgets_batches_that_end_at_or_above_an_offset() -> None:
    index = index_of((1000, 105), (2000, 110))
    index.truncate(110)
    assert index.last == (1000, 105)

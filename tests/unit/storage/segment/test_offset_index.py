import pytest

from tidelog.storage.segment.offset_index import CorruptIndex, OffsetIndex


def index_of(*entries: tuple[int, int], base: int = 100) -> OffsetIndex:
    index = OffsetIndex(base)
    for last_offset, position in entries:
        index.add(last_offset, position)
    return index


def test_finds_the_entry_at_or_below_an_offset() -> None:
    index = index_of((105, 0), (110, 500), (130, 900))
    assert index.at_or_below(104) is None
    assert index.at_or_below(105) == (105, 0)
    assert index.at_or_below(129) == (110, 500)
    assert index.at_or_below(10_000) == (130, 900)


def test_finds_the_entry_at_or_before_a_position() -> None:
    index = index_of((105, 10), (110, 500))
    assert index.at_or_before(9) is None
    assert index.at_or_before(499) == (105, 10)
    assert index.at_or_before(500) == (110, 500)


def test_is_written_as_kafka_writes_it() -> None:
    assert index_of((105, 10), (110, 500)).dump() == bytes.fromhex("00000005 0000000a 0000000a 000001f4")
    assert index_of((105, 10), (110, 500)).dump(1) == bytes.fromhex("0000000a 000001f4")


def test_survives_a_round_trip() -> None:
    index = index_of((105, 10), (110, 500))
    again = OffsetIndex.load(100, index.dump(), log_bytes=501)
    assert again.dump() == index.dump()
    assert again.last == (110, 500)


def test_refuses_a_file_of_odd_length_and_one_that_points_behind_the_log() -> None:
    with pytest.raises(CorruptIndex, match="multiple"):
        OffsetIndex.load(0, bytes(7), log_bytes=100)
    with pytest.raises(CorruptIndex, match="position 500"):
        OffsetIndex.load(100, index_of((110, 500)).dump(), log_bytes=500)


def test_notices_entries_out_of_order() -> None:
    assert index_of((105, 10), (110, 500)).is_ordered()
    assert not index_of((110, 10), (110, 500)).is_ordered()
    assert not index_of((105, 10), (110, 10)).is_ordered()
    assert not index_of((99, 10)).is_ordered()


def test_truncation_forgets_batches_from_a_position_on() -> None:
    index = index_of((105, 10), (110, 500), (120, 900))
    index.truncate(500)
    assert index.last == (105, 10)
    index.truncate(0)
    assert index.last is None

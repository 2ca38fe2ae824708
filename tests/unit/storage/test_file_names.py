import pytest

from tidelog.storage.file_names import file_name, parse


def test_names_are_kafkas_and_sort_like_offsets() -> None:
    assert file_name(42, ".log") == "00000000000000000042.log"
    assert sorted(file_name(offset, ".log") for offset in (2**62, 9, 10)) == [
        file_name(offset, ".log") for offset in (9, 10, 2**62)
    ]


def test_parse_gives_offset_and_suffix() -> None:
    assert parse("00000000000000000042.timeindex") == (42, ".timeindex")
    assert parse("00000000000000000042.log.deleted") == (42, ".log.deleted")


@pytest.mark.parametrize("name", ["partition.metadata", "42.log", "0000000000000000004x.log", "", "²" * 20])
def test_other_names_are_not_ours(name: str) -> None:
    assert parse(name) is None

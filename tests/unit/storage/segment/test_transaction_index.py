import pytest

from tidelog.storage.segment.offset_index import CorruptIndex
from tidelog.storage.segment.transaction_index import ENTRY, Aborted, TransactionIndex

# Three transactions that overlap: 0-9 and 3-12, then 20-25.
ENTRIES = [Aborted(1, 0, 9, 3), Aborted(2, 3, 12, 13), Aborted(1, 20, 25, 26)]


def found(start: int, end: int) -> list[Aborted]:
    aborted: list[Aborted] = []
    TransactionIndex(ENTRIES).between(start, end, aborted)
    return aborted


def test_the_file_is_kafkas() -> None:
    assert ENTRY.size == 34
    assert TransactionIndex(ENTRIES[1:2]).dump() == bytes.fromhex(
        "0000" "0000000000000002" "0000000000000003" "000000000000000c" "000000000000000d"
    )  # fmt: skip
    raw = TransactionIndex(ENTRIES).dump()
    assert TransactionIndex.load(0, raw).entries == ENTRIES
    assert TransactionIndex(ENTRIES).dump(2) == raw[68:]


def test_those_that_overlap_are_found() -> None:
    assert found(0, 100) == ENTRIES
    assert found(0, 3) == ENTRIES[:1]
    assert found(9, 10) == ENTRIES[:2]
    assert found(10, 20) == ENTRIES[1:2]
    assert found(13, 20) == []
    assert found(25, 26) == ENTRIES[2:]
    assert found(26, 99) == []


def test_the_search_ends_where_all_below_is_decided() -> None:
    assert TransactionIndex(ENTRIES).between(0, 13, []) is True
    assert TransactionIndex(ENTRIES).between(0, 27, []) is False


def test_a_truncation_takes_the_markers_from_there_on() -> None:
    index = TransactionIndex(list(ENTRIES))
    index.truncate(12)
    assert index.entries == ENTRIES[:1]
    index.add(ENTRIES[1])
    assert index.entries == ENTRIES[:2]


@pytest.mark.parametrize(
    "raw",
    [
        TransactionIndex(ENTRIES).dump()[:-1],
        b"\x00\x01" + TransactionIndex(ENTRIES).dump()[2:],
        TransactionIndex(ENTRIES[::-1]).dump(),
        TransactionIndex([Aborted(1, 8, 7, 8)]).dump(),
        TransactionIndex([Aborted(1, -1, 7, 8)]).dump(),
        bytes(68),
    ],
)
def test_bytes_that_cannot_be_right_are_not_believed(raw: bytes) -> None:
    with pytest.raises(CorruptIndex):
        TransactionIndex.load(0, raw)
    with pytest.raises(CorruptIndex):
        TransactionIndex.load(26, TransactionIndex(ENTRIES).dump())


def test_after_a_crash_only_what_was_synced_is_believed() -> None:
    raw = TransactionIndex(ENTRIES).dump()
    assert TransactionIndex.load_below(0, raw, 12).entries == ENTRIES[:1]
    assert TransactionIndex.load_below(0, raw + bytes(10), 99).entries == ENTRIES
    assert TransactionIndex.load_below(0, raw[:34] + bytes(34) + raw[68:], 99).entries == ENTRIES[:1]
    assert TransactionIndex.load_below(0, raw[:34] + raw[:34], 99).entries == ENTRIES[:1]

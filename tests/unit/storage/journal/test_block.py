import pytest

from tidelog.storage.journal.block import ALIGNMENT, JournalEntry, block_bytes, find_blocks, write_block

ID = b"0123456789abcdef"


def entry(data: bytes, name: str = "orders-0") -> JournalEntry:
    return JournalEntry(name, b"t" * 16, 7, 4096, data)


def test_blocks_are_found_with_their_entries() -> None:
    entries = [entry(b"one"), entry(b"", "other-12"), entry(bytes(2000))]
    data = write_block(ID, 5, 3, entries) + write_block(ID, 6, 3, [])
    assert len(data) == block_bytes(sum(one.size for one in entries)) + ALIGNMENT
    first, second = find_blocks(data + bytes(4 * ALIGNMENT), ID)
    assert (first.sequence, first.oldest, list(first.entries())) == (5, 3, entries)
    assert (second.sequence, list(second.entries())) == (6, [])


@pytest.mark.parametrize("position", [0, 6, 30, 47, 200, 680])
def test_a_changed_byte_makes_a_block_none_and_the_next_is_found(position: int) -> None:
    data = bytearray(write_block(ID, 5, 3, [entry(bytes(600))]) + write_block(ID, 6, 3, []))
    data[position] ^= 1
    assert [block.sequence for block in find_blocks(bytes(data), ID)] == [6]


def test_a_block_that_ends_in_nothing_is_none() -> None:
    data = write_block(ID, 5, 3, [entry(bytes(600))])
    for length in range(0, len(data), 64):
        found = find_blocks(data[:length], ID)
        assert len(found) == (length >= 44 + 38 + 8 + 600)


def test_a_record_that_looks_like_a_block_is_none() -> None:
    """A client cannot know the id of the journal. Inside of a whole block nothing is looked for."""
    forged = write_block(bytes(16), 9, 1, [entry(b"evil")])
    shift = bytes(-(44 + 38 + 8) % ALIGNMENT)
    own = write_block(ID, 9, 1, [entry(b"own")])
    data = write_block(ID, 5, 3, [entry(shift + forged + own)])
    assert [block.sequence for block in find_blocks(data, ID)] == [5]
    torn = data[:8] + b"?" + data[9:]
    assert [block.sequence for block in find_blocks(torn, ID)] == [9], "the id alone makes the difference"
    assert not find_blocks(bytes(ALIGNMENT) + forged, ID)

"""An unfinished write and a damaged entry look alike from afar; here they are told apart."""

import pytest

from tidelog.metadata.store.entries.batches import encode_entry
from tidelog.metadata.store.torn_write import SECTOR_BYTES, is_torn
from tidelog.raft.entries import Entry, EntryKind
from tidelog.storage.segment.scan import Bad, SegmentScan
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

INDEXES = [0, 7, 255, 256, 70_000]


def verdict(before: bytes, tail: bytes, index: int) -> str:
    """Of the tail of a file; "good" is what the scan lets pass, for its caller to look at."""
    file = MemoryDisk().open("/f.log", create=True)
    file.write_at(0, [before, tail])
    found = next(SegmentScan(file, 0, file.size()).run(len(before), index))
    if not isinstance(found, Bad):
        return "good"
    return "torn" if is_torn(file, found, index) else "damaged"


def entry(index: int, size: int) -> bytes:
    return bytes(encode_entry(Entry(3, EntryKind.DATA, b"x" * size), index, 0, 1_700_000_000_000))


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("shift", [1, 100, 500, 505, 507, 511, 512])
def test_every_prefix_is_a_torn_write(index, shift):
    whole = entry(index, 700)
    for length in range(1, len(whole), 7):
        assert verdict(b"\1" * shift, whole[:length], index) == "torn"


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("shift", [0, 1, 100, 490, 500, 505, 507, 511])
def test_every_lost_sector_is_a_torn_write(index, shift):
    whole = entry(index, 2000)
    for start in range(-shift % SECTOR_BYTES - SECTOR_BYTES, len(whole), SECTOR_BYTES):
        torn = bytearray(whole)
        lost = range(max(0, start), min(start + SECTOR_BYTES, len(whole)))
        torn[lost.start : lost.stop] = bytes(len(lost))
        if torn != whole:
            assert verdict(b"\1" * shift, bytes(torn), index) == "torn"


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("shift", [0, 1, 100, 490, 500, 505, 507, 511])
def test_every_flipped_bit_is_damage(index, shift):
    whole = entry(index, 300)
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << position % 8
        # Offset and epoch are for the scan's caller to compare.
        allowed = ("damaged", "good") if position < 8 or 12 <= position < 16 else ("damaged",)
        assert verdict(b"\1" * shift, bytes(flipped), index) in allowed

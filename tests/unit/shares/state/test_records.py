"""The records of `__share_group_state`: the bytes are those that the classes of Apache Kafka 4.3.1 write."""

import gc
import tracemalloc

import pytest

from tidelog.shares.place import SharePlace
from tidelog.shares.state.records import (
    SNAPSHOT_KEY,
    UNCHANGED,
    UPDATE_KEY,
    CorruptShareRecord,
    Part,
    Snapshot,
    Update,
    decode_key,
    decode_snapshot,
    decode_update,
    encode_key,
    encode_snapshot,
    encode_update,
    kind_of,
)
from tidelog.shares.states import DeadLetterWrite, DeliveryState, StateBatch

PLACE = SharePlace("workers", bytes(range(16)), 3)
LETTERS = DeadLetterWrite(4000, 1, 17, bytes(range(16, 32)), 5, ((100, 104), (110, 110)))

KEYS = {
    SNAPSHOT_KEY: "00000007776f726b657273000102030405060708090a0b0c0d0e0f00000003",
    UPDATE_KEY: "00010007776f726b657273000102030405060708090a0b0c0d0e0f00000003",
}
SNAPSHOTS = {
    "000000000002000000050000000700000000000000640000018bcfe568000000018bcfe56801"
    "030000000000000064000000000000006d020001000000000000000070"
    "0000000000000070000004000100040000000a": Snapshot(
        2,
        5,
        7,
        100,
        1_700_000_000_000,
        1_700_000_000_001,
        [
            StateBatch(100, 109, DeliveryState.ACKNOWLEDGED, 1),
            StateBatch(112, 112, DeliveryState.AVAILABLE, 4),
        ],
        10,
    ),
    "0000000000000000000100000000ffffffffffffffff000000000000000500000000000000050100": Snapshot(
        0, 1, 0, -1, 5, 5, []
    ),
}
UPDATE = (
    "00000000000200000007ffffffffffffffff020000000000000064000000000000006d0400050001000400000003",
    Update(2, 7, UNCHANGED, [StateBatch(100, 109, DeliveryState.ARCHIVED, 5)], 3),
)


@pytest.mark.parametrize("kind", KEYS)
def test_keys(kind: int) -> None:
    key = bytes.fromhex(KEYS[kind])
    assert encode_key(kind, PLACE) == key
    assert decode_key(key) == (kind, PLACE)
    assert kind_of(key) == kind


@pytest.mark.parametrize("hexed", SNAPSHOTS)
def test_snapshots(hexed: str) -> None:
    assert encode_snapshot(SNAPSHOTS[hexed]) == bytes.fromhex(hexed)
    assert decode_snapshot(bytes.fromhex(hexed)) == SNAPSHOTS[hexed]


def test_updates() -> None:
    hexed, update = UPDATE
    assert encode_update(update) == bytes.fromhex(hexed)
    assert decode_update(bytes.fromhex(hexed)) == update


def test_our_own_fields_are_tagged_fields_that_others_can_skip() -> None:
    batches = [
        StateBatch(1, 2, DeliveryState.AVAILABLE, 3, available_at=123_456),
        StateBatch(3, 3, DeliveryState.ARCHIVING, 5),
    ]
    update = Update(2, 7, 1, batches, 0, LETTERS, Part.LAST, 99)
    assert decode_update(encode_update(update)) == update
    usual = Update(2, 7, 1, batches, 5, sequence=99)
    assert decode_update(encode_update(usual)) == usual
    snapshot = Snapshot(1, 2, 3, 4, 5, 6, batches, -1, LETTERS, Part.MORE, 0)
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot
    # tag 10000 of a batch, as in WriteShareGroupState: one field, 0x904e, eight bytes
    assert b"\x01\x90\x4e\x08" + (123_456).to_bytes(8, "big") in encode_update(update)


def test_an_unknown_tagged_field_is_skipped() -> None:
    hexed, update = UPDATE
    data = bytes.fromhex(hexed)
    with_more = data[:-7] + b"\x02" + data[-6:] + b"\x05\x01\xff"
    assert decode_update(with_more) == update


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_bytes_that_end_early_are_an_error_that_names_the_record(cut: int) -> None:
    with pytest.raises(CorruptShareRecord, match="an update of"):
        decode_update(bytes.fromhex(UPDATE[0])[:-cut])
    with pytest.raises(CorruptShareRecord, match="a snapshot of"):
        decode_snapshot(bytes.fromhex(next(iter(SNAPSHOTS)))[:-cut])
    with pytest.raises(CorruptShareRecord, match="a key of"):
        decode_key(bytes.fromhex(KEYS[0])[:-cut])


def test_a_state_that_is_not_stored_is_corrupt() -> None:
    held = bytes.fromhex(UPDATE[0].replace("040005", "010005"))
    with pytest.raises(CorruptShareRecord):
        decode_update(held)


def test_keys_of_long_group_ids_are_not_kept() -> None:
    tracemalloc.start()
    try:
        for number in range(20):
            encode_key(0, SharePlace(f"{number}" + "a" * 8000, bytes(16), 0))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 30_000, "one of the keys has 8,000 bytes"

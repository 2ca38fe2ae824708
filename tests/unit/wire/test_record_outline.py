import pytest

from tidelog.base.errors import KafkaError
from tidelog.wire.batch import crc_ok, read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, read_records, write_batch
from tidelog.wire.record_outline import join_outlined, outline_records, record_bytes

RECORDS = [
    Record(100, 5_000, b"a", b"1"),
    Record(101, 4_000, None, b"x" * 300, [("h", b"1"), ("g", None)]),
    Record(103, 999_999_999, b"k" * 200, None),
    Record(70_000, 5_001, b"", b""),
]


def outlined(batch):
    header = read_header(batch)
    data = record_bytes(batch, header)
    return data, header, outline_records(data, header)


@pytest.mark.parametrize("codec", list(Codec))
def test_outlines_agree_with_the_records(codec):
    batch = write_batch(RECORDS, base_offset=100, codec=codec)
    _, header, outlines = outlined(batch)
    assert [
        (header.base_offset + delta, header.base_timestamp + timestamp, key, is_tombstone)
        for _, _, _, timestamp, delta, key, is_tombstone in outlines
    ] == [(record.offset, record.timestamp, record.key, record.value is None) for record in RECORDS]


@pytest.mark.parametrize("horizon", [None, 1_700_000_000_000])
@pytest.mark.parametrize("codec", list(Codec))
def test_a_choice_of_records_keeps_all_but_the_others(codec, horizon):
    batch = write_batch(
        RECORDS, base_offset=90, codec=codec, producer_id=4, producer_epoch=2, base_sequence=8, leader_epoch=3
    )
    data, header, outlines = outlined(batch)
    joined = join_outlined(data, header, [outlines[1], outlines[3]], horizon)
    after = read_header(joined)
    assert crc_ok(joined, 0, after)
    assert read_records(joined) == [RECORDS[1], RECORDS[3]]
    assert after.size == len(joined)
    assert after.max_timestamp == 5_001
    assert after.has_delete_horizon == (horizon is not None)
    assert after.base_timestamp == (horizon or header.base_timestamp)
    kept = (
        "base_offset",
        "leader_epoch",
        "last_offset_delta",
        "producer_id",
        "producer_epoch",
        "base_sequence",
    )
    assert [getattr(after, name) for name in kept] == [getattr(header, name) for name in kept]
    assert after.codec == codec


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"",
        lambda data: b"\x80" * 20,
        lambda data: b"\x01" + data[1:],
        lambda data: bytes([2, 0, 0]),
        lambda data: bytes([12, 0, 0, 0, 3, 0, 0]),
        lambda data: bytes([6, 0, 0, 0, 200, 200, 200]),
    ],
)
def test_bytes_that_do_not_fit_are_refused(damage):
    data, header, _ = outlined(write_batch(RECORDS[:1], base_offset=100))
    with pytest.raises(KafkaError):
        outline_records(damage(data), header)

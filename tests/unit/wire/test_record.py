import struct

import pytest
from aiokafka.record import default_records as aiokafka_records
from kafka.record import default_records as kafka_records

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.invariant import InvariantError
from tidelog.wire import batch as batches
from tidelog.wire.batch import HEADER, check_batches, crc_ok, patch_crc, read_header
from tidelog.wire.compression import Codec, compress
from tidelog.wire.record import (
    Control,
    ControlType,
    Record,
    read_control,
    read_records,
    walk_records,
    write_batch,
    write_control_batch,
)
from tidelog.wire.record_body import HEADERS_MAX
from tidelog.wire.varint import encode_varint as v

NOW = 1_700_000_000_000
RECORDS = [
    Record(0, NOW, b"key", b"value"),
    Record(1, NOW - 5000, None, b"earlier than the first"),
    Record(2, NOW + 9, b"tombstone", None),
    Record(3, NOW, None, None),
    Record(4, NOW, b"", b""),
    Record(5, NOW, b"k" * 70, b"v" * 9000),
    Record(
        6,
        NOW,
        b"h",
        b"v",
        [("trace", b"\x00\xff"), ("null", None), ("", b""), ("ключ", b"x"), ("trace", b"2")],
    ),
    *(Record(offset, NOW + 70 * offset, b"%d" % offset, b"some text " * 5) for offset in range(7, 200)),
]
FOREIGN = {"kafka-python": kafka_records, "aiokafka": aiokafka_records}


def refusal(data: bytes | bytearray, read=read_records) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        read(data)
    return caught.value.code


def batch_of(body: bytes, count: int = 1, codec: int = 0) -> bytearray:
    """A batch with a right CRC around any bytes at all."""
    data = write_batch([Record(0, NOW, None, None)])[: HEADER.size] + body
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">h", data, 21, codec)
    struct.pack_into(">i", data, 57, count)
    patch_crc(data, 0)
    return data


def sized(*fields: bytes) -> bytes:
    record = b"".join(fields)
    return v(len(record)) + record


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("client", FOREIGN)
def test_other_clients_read_our_batches(client: str, codec: Codec) -> None:
    data = write_batch(
        RECORDS, codec=codec, producer_id=12, producer_epoch=3, base_sequence=40, transactional=True
    )
    theirs = FOREIGN[client].DefaultRecordBatch(bytearray(data))
    assert theirs.validate_crc()
    assert (theirs.compression_type, theirs.producer_id, theirs.producer_epoch) == (codec, 12, 3)
    assert (theirs.base_sequence, theirs.is_transactional, theirs.is_control_batch) == (40, True, False)
    assert (theirs.base_offset, theirs.next_offset) == (0, 200)
    assert (theirs.first_timestamp, theirs.max_timestamp) == (NOW, NOW + 70 * 199)
    seen = [Record(r.offset, r.timestamp, r.key, r.value, [(k, x) for k, x in r.headers]) for r in theirs]
    assert seen == RECORDS


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("client", FOREIGN)
def test_we_read_batches_of_other_clients(client: str, codec: Codec) -> None:
    builder = FOREIGN[client].DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for record in RECORDS:
        builder.append(*record)
    data = bytes(builder.build())
    check_batches(data)
    assert walk_records(data) == RECORDS
    assert read_records(memoryview(data)) == RECORDS
    if codec is Codec.NONE:
        assert write_batch(RECORDS, leader_epoch=read_header(data).leader_epoch) == data


@pytest.mark.parametrize("codec", Codec)
def test_gaps_and_a_kept_last_offset(codec: Codec) -> None:
    kept = [record._replace(offset=record.offset + 1000) for record in RECORDS[3::7]]
    data = write_batch(kept, base_offset=1000, last_offset_delta=500, codec=codec, leader_epoch=4)
    header = read_header(data)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (1000, 1500, 4)
    assert header.record_count == len(kept)
    assert crc_ok(data, 0, header)
    assert read_records(data) == kept
    assert refusal(data, walk_records) is ErrorCode.INVALID_RECORD


def test_an_empty_batch_keeps_its_range() -> None:
    data = write_batch(
        [], base_offset=7, last_offset_delta=3, codec=Codec.ZSTD, producer_id=1, max_timestamp=NOW
    )
    header = read_header(data)
    assert len(data) == HEADER.size
    assert (header.next_offset, header.record_count, header.codec) == (11, 0, Codec.NONE)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW)
    assert crc_ok(data, 0, header)
    assert read_records(data) == []
    with pytest.raises(InvariantError):
        write_batch([])


def test_an_empty_batch_that_names_a_codec_is_read() -> None:
    assert read_records(batch_of(b"", count=0, codec=Codec.GZIP)) == []
    assert read_records(batch_of(compress(Codec.GZIP, b""), count=0, codec=Codec.GZIP)) == []


def test_records_outside_of_the_batch_are_our_own_bug() -> None:
    with pytest.raises(InvariantError):
        write_batch([Record(4, NOW, None, None)], base_offset=5)
    with pytest.raises(InvariantError):
        write_batch([Record(9, NOW, None, None)], base_offset=5, last_offset_delta=3)


def test_log_append_time_covers_every_record() -> None:
    data = write_batch(RECORDS, log_append_time=NOW * 2, codec=Codec.LZ4)
    assert read_header(data).is_log_append_time
    assert {record.timestamp for record in read_records(data)} == {NOW * 2}
    assert [record.value for record in read_records(data)] == [record.value for record in RECORDS]
    theirs = kafka_records.DefaultRecordBatch(bytearray(data))
    assert {record.timestamp for record in theirs} == {NOW * 2}


def test_a_delete_horizon_keeps_the_timestamps() -> None:
    data = write_batch(RECORDS, delete_horizon_ms=NOW + 86_400_000)
    header = read_header(data)
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW + 86_400_000
    assert header.max_timestamp == NOW + 70 * 199
    assert read_records(data) == RECORDS


def test_records_without_a_timestamp() -> None:
    records = [Record(0, -1, None, b"a"), Record(1, -1, None, b"b")]
    assert read_records(write_batch(records)) == records


def test_header_keys_that_are_not_text_survive() -> None:
    body = sized(b"\0", v(0), v(0), v(-1), v(-1), v(1), v(2), b"\xff\xfe", v(-1))
    data = batch_of(body)
    assert write_batch(read_records(data)) == data


@pytest.mark.parametrize(
    ("body", "count"),
    [
        pytest.param(b"", 1, id="no record"),
        pytest.param(b"", -1, id="negative count of nothing"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0)), 0, id="one more than declared"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0)), 2, id="one fewer than declared"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0)), 2**31 - 1, id="far fewer than declared"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0)), -1, id="negative count"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0)) + b"\0", 1, id="trailing byte"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(0), b"x"), 1, id="byte inside the record"),
        pytest.param(v(-7) + b"\0" * 9, 1, id="negative length"),
        pytest.param(v(0) + b"\0" * 9, 1, id="length zero"),
        pytest.param(v(2**31 - 1) + b"\0" * 9, 1, id="length beyond the batch"),
        pytest.param(v(2**40) + b"\0" * 9, 1, id="length of 40 bits"),
        pytest.param(b"\xff" * 12, 1, id="length without an end"),
        pytest.param(
            sized(b"\0", b"\xff" * 9 + b"\x7f", v(0), v(-1), v(-1), v(0)), 1, id="timestamp of 70 bits"
        ),
        pytest.param(sized(b"\0", v(0), v(2**31), v(-1), v(-1), v(0)), 1, id="offset of 33 bits"),
        pytest.param(sized(b"\0", v(0), v(0), v(-2), v(-1), v(0)), 1, id="key of -2"),
        pytest.param(sized(b"\0", v(0), v(0), v(9), v(-1), v(0)), 1, id="key beyond the record"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-2), v(0)), 1, id="value of -2"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(70000), v(0)), 1, id="value beyond the batch"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(-1)), 1, id="negative header count"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(2**31 - 1)), 1, id="lying header count"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(1), v(-1), v(-1)), 1, id="null header key"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(1), v(0), v(-2)), 1, id="header value of -2"),
        pytest.param(sized(b"\0", v(0), v(0), v(-1), v(-1), v(1), v(900), b"k"), 1, id="header key too long"),
        pytest.param(
            sized(b"\0", v(0), v(0), v(-1), v(2), v(0)) + sized(b"\0", v(0), v(1), v(-1), v(-1), v(0)),
            2,
            id="value that reaches into the next record",
        ),
        pytest.param(
            sized(b"\0", v(0), v(0), v(-1), v(-1), v(0), sized(b"\0", v(0), v(1), v(-1), v(-1), v(0))),
            2,
            id="record inside of a record",
        ),
    ],
)
@pytest.mark.parametrize("codec", Codec)
def test_bodies_that_lie_are_invalid(body: bytes, count: int, codec: Codec) -> None:
    packed = compress(codec, body) if codec else body
    assert refusal(batch_of(packed, count, codec)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("deltas", [[1], [0, 0], [0, 2], [1, 0], [-1, 0]])
def test_offsets_of_a_client_count_up_from_zero(deltas: list[int]) -> None:
    body = b"".join(sized(b"\0", v(0), v(delta), v(-1), v(-1), v(0)) for delta in deltas)
    data = batch_of(body, len(deltas))
    assert [record.offset for record in read_records(data)] == deltas
    assert refusal(data, walk_records) is ErrorCode.INVALID_RECORD


def test_a_body_that_does_not_decompress_is_corrupt() -> None:
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        assert refusal(batch_of(b"not compressed at all", 1, codec)) is ErrorCode.CORRUPT_MESSAGE
    assert refusal(batch_of(b"", 1, 6)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_records_beyond_the_limit_are_too_large(codec: Codec) -> None:
    data = write_batch([Record(0, NOW, None, bytes(100_000))], codec=codec)
    assert len(read_records(data, 200_000)) == 1
    with pytest.raises(KafkaError) as caught:
        read_records(data, 100_000)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_what_is_no_batch_is_corrupt() -> None:
    data = write_batch(RECORDS)
    for broken in (b"", data[:60], data[:-1], data[:16] + b"\1" + data[17:], data[:8] + bytes(4) + data[12:]):
        assert refusal(broken) is ErrorCode.CORRUPT_MESSAGE
    assert read_records(data + b"the next batch") == RECORDS


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_transaction_markers(kind: ControlType) -> None:
    data = write_control_batch(
        kind,
        producer_id=9,
        producer_epoch=2,
        coordinator_epoch=31,
        timestamp=NOW,
        base_offset=50,
        leader_epoch=8,
    )
    header = read_header(data)
    assert [header.is_control, header.is_transactional] == [True, True]
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (50, 50, 8)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, -1)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW)
    assert crc_ok(data, 0, header)
    control = read_control(data)
    assert control == Control(kind, 31)
    assert control.is_marker
    (record,) = read_records(data)
    assert record.key == b"\0\0\0" + bytes([kind])
    assert record.value == b"\0\0\0\0\0\x1f"
    theirs = kafka_records.DefaultRecordBatch(bytearray(data))
    assert theirs.is_control_batch
    (marker,) = theirs
    assert (marker.commit, marker.abort) == (kind is ControlType.COMMIT, kind is ControlType.ABORT)


def test_other_control_records_are_known_by_their_number() -> None:
    for number in (2, 6, 99):
        data = write_batch([Record(0, NOW, b"\0\0\0" + bytes([number]), b"?")], control=True)
        control = read_control(data)
        assert control == Control(number, -1)
        assert not control.is_marker
    assert read_control(write_batch([], control=True, last_offset_delta=0)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0" * 6),
        (b"\0\0\0", b"\0" * 6),
        (b"\xff\xff\0\1", b"\0" * 6),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0" * 5),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\0"),
    ],
)
def test_control_records_that_lie(key: bytes | None, value: bytes | None) -> None:
    data = write_batch([Record(0, NOW, key, value)], control=True, transactional=True)
    assert refusal(data, read_control) is ErrorCode.INVALID_RECORD


def test_a_client_may_not_send_a_marker() -> None:
    data = write_control_batch(
        ControlType.COMMIT, producer_id=9, producer_epoch=2, coordinator_epoch=0, timestamp=NOW
    )
    assert refusal(data, check_batches) is ErrorCode.INVALID_RECORD
    assert batches.CONTROL & read_header(data).attributes


def test_a_time_that_no_field_can_hold_is_refused() -> None:
    batch = write_batch([Record(0, 0, b"k", b"v"), Record(1, 2**63 - 1, b"k", b"v")])
    HEADER.pack_into(batch, 0, *read_header(batch)._replace(base_timestamp=1))
    with pytest.raises(KafkaError, match="a timestamp of 9223372036854775808"):
        read_records(batch)


def test_the_number_of_headers_is_bounded() -> None:
    headers = [("", None)] * (HEADERS_MAX // 2)
    assert len(read_records(write_batch([Record(0, 0, b"k", b"v", headers)]))[0].headers) == len(headers)
    three = [Record(number, 0, b"k", b"v", headers) for number in range(3)]
    with pytest.raises(KafkaError, match="more than 1000000 headers"):
        read_records(write_batch(three))

import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.wire import batch
from tidelog.wire.batch import (
    HEADER,
    check_batches,
    crc_ok,
    iter_batches,
    patch_base,
    patch_crc,
    patch_timestamp,
    read_header,
)

FIELDS = {
    "base_offset": (0, "q"),
    "length": (8, "i"),
    "leader_epoch": (12, "i"),
    "magic": (16, "b"),
    "attributes": (21, "h"),
    "last_offset_delta": (23, "i"),
    "max_timestamp": (35, "q"),
    "producer_id": (43, "q"),
    "base_sequence": (53, "i"),
    "record_count": (57, "i"),
}


def from_client(count: int = 3, codec: int = 0) -> bytearray:
    """A batch as another implementation writes it."""
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for index in range(count):
        builder.append(index, 1000 + index, b"key", b"value", [])
    return bytearray(builder.build())


def changed(data: bytearray, *, fix_crc: bool = True, **fields: int) -> bytearray:
    for name, value in fields.items():
        position, form = FIELDS[name]
        struct.pack_into(">" + form, data, position, value)
    if fix_crc and "length" not in fields:
        patch_crc(data, 0)
    return data


def refusal(data: bytes | bytearray) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check_batches(data)
    return caught.value.code


def test_reads_every_field_of_a_foreign_header() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, 1, 77, 5, 9, 1 << 20)
    for index in range(4):
        builder.append(index, 5000 - index, None, b"v", [])
    data = bytearray(builder.build())
    patch_base(data, 0, 120, 6)
    header = read_header(b"before" + data, 6)
    assert header == (120, len(data) - 12, 6, 2, header.crc, 0x10, 3, 5000, 5000, 77, 5, 9, 4)
    assert header.size == len(data)
    assert (header.last_offset, header.next_offset, header.last_sequence) == (123, 124, 12)
    assert header.is_transactional
    assert [header.is_control, header.is_log_append_time, header.has_delete_horizon] == [False] * 3
    assert crc_ok(data, 0, header)


def test_attribute_bits() -> None:
    header = read_header(from_client())._replace(attributes=0x6C)
    assert header.codec == 4
    assert header.is_log_append_time
    assert header.is_control
    assert header.has_delete_horizon
    assert not header.is_transactional


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [(0, 0, 0), (2**31 - 1, 0, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 2, 4, 2), (-1, 4, -1)],
)
def test_sequences_wrap(base: int, delta: int, last: int) -> None:
    header = read_header(from_client())._replace(base_sequence=base, last_offset_delta=delta)
    assert header.last_sequence == last


def test_a_short_header_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        read_header(from_client()[:60])
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(KafkaError):
        read_header(b"", 7)


def test_iterates_up_to_an_incomplete_batch() -> None:
    first, second, third = from_client(1), from_client(2), from_client(3)
    whole = first + second + third
    starts = [0, len(first), len(first) + len(second)]
    assert [position for position, _ in iter_batches(whole)] == starts
    assert [header.record_count for _, header in iter_batches(memoryview(whole))] == [1, 2, 3]
    for missing in range(1, len(third) + 1):
        assert [position for position, _ in iter_batches(whole[:-missing])] == starts[:2]


@pytest.mark.parametrize("field", [{"magic": 1}, {"magic": 3}, {"length": 48}, {"length": -1}])
def test_iterating_over_what_is_no_batch_fails(field: dict[str, int]) -> None:
    data = from_client(1) + changed(from_client(1), **field)
    with pytest.raises(KafkaError, match=f"no batch at {len(from_client(1))}") as caught:
        list(iter_batches(data))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", range(5))
def test_a_good_batch_of_every_codec_passes(codec: int) -> None:
    data = from_client(50, codec)
    ((position, header),) = check_batches(data)
    assert (position, header.record_count, header.codec) == (0, 50, codec)
    assert check_batches(bytes(data)) == check_batches(memoryview(data))


def test_several_batches_pass_each_with_its_position() -> None:
    first, second = from_client(1), from_client(2)
    assert [position for position, _ in check_batches(first + second)] == [0, len(first)]
    damaged = first + changed(second, max_timestamp=1, fix_crc=False)
    assert refusal(damaged) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ({"magic": 0}, ErrorCode.INVALID_RECORD),
        ({"magic": 1}, ErrorCode.INVALID_RECORD),
        ({"magic": 3}, ErrorCode.CORRUPT_MESSAGE),
        ({"magic": -1}, ErrorCode.CORRUPT_MESSAGE),
        ({"length": 48}, ErrorCode.CORRUPT_MESSAGE),
        ({"length": 0}, ErrorCode.CORRUPT_MESSAGE),
        ({"length": -(2**31)}, ErrorCode.CORRUPT_MESSAGE),
        ({"length": 2**31 - 1}, ErrorCode.INVALID_RECORD),
        ({"base_offset": 1}, ErrorCode.INVALID_RECORD),
        ({"attributes": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"attributes": 7}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"attributes": batch.CONTROL}, ErrorCode.INVALID_RECORD),
        ({"attributes": batch.LOG_APPEND_TIME}, ErrorCode.INVALID_TIMESTAMP),
        ({"record_count": 0, "last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"record_count": -1, "last_offset_delta": -2}, ErrorCode.INVALID_RECORD),
        ({"record_count": 4}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 3}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"record_count": 2**31 - 1, "last_offset_delta": 2**31 - 2}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 5}, ErrorCode.INVALID_RECORD),
    ],
)
def test_rules_for_clients(field: dict[str, int], code: ErrorCode) -> None:
    assert refusal(changed(from_client(3), **field)) is code


@pytest.mark.parametrize("length", [-12, -73])
def test_a_length_that_leads_back_does_not_loop(length: int) -> None:
    """The bytes it spans are none, and the CRC of no bytes is 0."""
    data = changed(from_client(3, codec=1), length=length)
    struct.pack_into(">I", data, 17, 0)
    assert refusal(data) is ErrorCode.CORRUPT_MESSAGE
    assert refusal(from_client(1) + data) is ErrorCode.CORRUPT_MESSAGE


def test_what_a_client_may_set() -> None:
    assert check_batches(changed(from_client(3), producer_id=5, base_sequence=0))
    assert check_batches(changed(from_client(3), attributes=batch.TRANSACTIONAL))
    assert check_batches(changed(from_client(3), leader_epoch=-1))


def test_every_flipped_bit_after_the_crc_is_found() -> None:
    data = from_client(2)
    for position in range(17, len(data)):
        data[position] ^= 0x40
        with pytest.raises(KafkaError):
            check_batches(data)
        data[position] ^= 0x40
    assert check_batches(data)


def test_every_truncation_is_refused() -> None:
    data = from_client(2)
    for length in range(len(data)):
        assert refusal(data[:length]) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("garbage", [b"\0", b"x" * 60, bytes(61), bytes(200)])
def test_bytes_after_the_last_batch_are_refused(garbage: bytes) -> None:
    refusal(from_client(1) + garbage)


def test_a_short_legacy_message_is_told_so() -> None:
    message = struct.pack(">qiIbbii", 0, 14, 0, 1, 0, -1, -1)
    assert refusal(message) is ErrorCode.INVALID_RECORD


def test_patching_the_base_keeps_the_crc() -> None:
    data = from_client(1) + from_client(2)
    second = len(from_client(1))
    before = bytes(data[:second])
    patch_base(memoryview(data), second, 2**40, 17)
    header = read_header(data, second)
    assert (header.base_offset, header.leader_epoch, header.next_offset) == (2**40, 17, 2**40 + 2)
    assert crc_ok(data, second, header)
    assert data[:second] == before


def test_patching_the_timestamp_renews_the_crc() -> None:
    data = from_client(1) + from_client(2, codec=1)
    second = len(from_client(1))
    before = bytes(data[:second])
    patch_timestamp(memoryview(data), second, 1 | batch.LOG_APPEND_TIME, 123456)
    header = read_header(data, second)
    assert (header.is_log_append_time, header.codec, header.max_timestamp) == (True, 1, 123456)
    assert crc_ok(data, second, header)
    assert data[:second] == before
    assert not crc_ok(data, second, header._replace(crc=header.crc ^ 1))


def test_the_layout_is_61_bytes() -> None:
    assert HEADER.size == 61


def test_the_records_of_a_compressed_batch_are_bounded_by_their_number() -> None:
    def of(count: int, codec: int) -> bytearray:
        data = from_client(1, codec=codec)
        header = read_header(data)._replace(record_count=count, last_offset_delta=count - 1)
        HEADER.pack_into(data, 0, *header)
        batch.patch_crc(data, 0)
        return data

    assert len(check_batches(of(batch.COMPRESSED_RECORDS_MAX, 4))) == 1
    assert refusal(of(batch.COMPRESSED_RECORDS_MAX + 1, 4)) is ErrorCode.MESSAGE_TOO_LARGE

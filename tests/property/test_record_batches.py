"""Any records survive a round trip; any bytes are read or refused, and nothing else happens."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from tidelog.base.errors import KafkaError
from tidelog.wire.batch import check_batches, crc_ok, iter_batches, patch_crc, read_header
from tidelog.wire.compression import Codec, compress, decompress
from tidelog.wire.record import Record, read_control, read_records, walk_records, write_batch
from tidelog.wire.varint import encode_varint, read_varlong

LIMIT = 1 << 20
maybe_bytes = st.none() | st.binary(max_size=300)
timestamps = st.integers(-1, 2**47)
headers = st.lists(st.tuples(st.text(max_size=9), maybe_bytes), max_size=3)
codecs = st.sampled_from(Codec)


@st.composite
def records_with_gaps(draw: st.DrawFn) -> list[Record]:
    offsets = sorted(draw(st.sets(st.integers(0, 2**31 - 1), max_size=20)))
    base = draw(st.integers(0, 2**40))
    return [
        Record(base + o, draw(timestamps), draw(maybe_bytes), draw(maybe_bytes), draw(headers))
        for o in offsets
    ]


@settings(max_examples=150)
@given(records_with_gaps(), codecs, st.none() | st.integers(0, 2**47))
def test_records_survive_a_round_trip(records: list[Record], codec: Codec, horizon: int | None) -> None:
    base = records[0].offset if records else 0
    data = write_batch(
        records, base_offset=base, codec=codec, delete_horizon_ms=horizon, last_offset_delta=2**31 - 1
    )
    assert crc_ok(data, 0, read_header(data))
    assert read_records(data) == records


@settings(max_examples=60)
@given(st.lists(st.tuples(timestamps, maybe_bytes, maybe_bytes, headers), min_size=1, max_size=90), codecs)
def test_kafka_python_agrees(
    fields: list[tuple[int, bytes, bytes, list[tuple[str, bytes]]]], codec: Codec
) -> None:
    records = [Record(offset, *rest) for offset, rest in enumerate(fields)]
    data = write_batch(records, codec=codec)
    check_batches(data)
    assert walk_records(data) == records
    theirs = DefaultRecordBatch(bytearray(data))
    assert theirs.validate_crc()
    assert [Record(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs] == records


@st.composite
def damaged(draw: st.DrawFn, base: bytes) -> bytes:
    data = bytearray(base)
    for _ in range(draw(st.integers(1, 4))):
        # Half of the damage goes to the front, where the lengths are.
        at = draw(st.integers(0, min(len(data), 90)) | st.integers(0, len(data)))
        match draw(st.integers(0, 2)):
            case 0:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                del data[at : at + draw(st.integers(1, 9))]
            case 2:
                data[at:at] = draw(st.binary(min_size=1, max_size=9))
    return bytes(data)


SAMPLE = [
    Record(
        offset, 1000 * offset, b"key %d" % offset, b"text" * offset, [("h", b"x"), ("n", None)] * (offset % 2)
    )
    for offset in range(90)
]


@settings(max_examples=400)
@given(st.data(), codecs)
def test_damaged_batches_are_refused_or_read(data: st.DataObject, codec: Codec) -> None:
    hostile = data.draw(damaged(bytes(write_batch(SAMPLE, codec=codec))))
    for read in (check_batches, lambda given: list(iter_batches(given)), walk_records, read_control):
        try:
            read(hostile)
        except KafkaError:
            pass


@settings(max_examples=400)
@given(st.data(), codecs)
def test_damaged_records_behind_a_right_crc_are_refused_or_read(data: st.DataObject, codec: Codec) -> None:
    whole = bytes(write_batch(SAMPLE))
    body = data.draw(damaged(whole[61:]))
    hostile = bytearray(whole[:61] + (compress(codec, body) if codec else body))
    struct.pack_into(">i", hostile, 8, len(hostile) - 12)
    struct.pack_into(">h", hostile, 21, codec)
    patch_crc(hostile, 0)
    try:
        records = walk_records(hostile)
    except KafkaError:
        return
    assert [record.offset for record in records] == list(range(90))
    assert read_records(write_batch(records)) == records


@settings(max_examples=400)
@given(st.data(), codecs, st.binary(max_size=400))
def test_damaged_frames_stay_within_the_limit(data: st.DataObject, codec: Codec, content: bytes) -> None:
    hostile = data.draw(damaged(compress(codec, content * 4)))
    try:
        assert len(decompress(codec, hostile, LIMIT)) <= LIMIT
    except KafkaError:
        pass


@settings(max_examples=300)
@given(st.binary(max_size=200), codecs)
def test_noise_is_refused_or_read(noise: bytes, codec: Codec) -> None:
    for read in (check_batches, lambda given: list(iter_batches(given)), read_records):
        try:
            read(noise)
        except KafkaError:
            pass
    try:
        decompress(codec, noise, LIMIT)
    except KafkaError:
        pass


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_varints(value: int, around: bytes) -> None:
    encoded = encode_varint(value)
    assert read_varlong(around + encoded + around, len(around)) == (value, len(around) + len(encoded))

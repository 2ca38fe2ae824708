"""Batches that must not enter a log, and the few that may although they look odd.

After every refusal the log ends where it did, and the next good batch goes in.
"""

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import psutil
import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import (
    EARLIEST,
    batch,
    create_topic,
    offset_at,
    produce,
    produce_request,
    read_all,
)
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.base.ports import Buffer
from tidelog.testing import Broker
from tidelog.wire import batch as layout
from tidelog.wire.apis import ApiKey
from tidelog.wire.compression import Codec, compress
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch
from tidelog.wire.varint import encode_varint

pytestmark = pytest.mark.usefixtures("no_failures")

NUMBERS = count()
COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
HOUR_MS = 3_600_000


BOMB_MEMORY_MAX = 400 << 20
"""What one batch may take while it is looked at: 128 MiB of plain bytes, twice, and what is made of them."""


@contextmanager
def memory_growth_below(limit: int) -> Iterator[None]:
    """The peak of this process, in which the broker runs; a thread of its own looks at it all the time."""
    process = psutil.Process()
    before = process.memory_info().rss
    peak = [before]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert peak[0] - before < limit, f"{(peak[0] - before) >> 20} MiB"


def now_ms() -> int:
    return int(time.time() * 1000)


def fresh_topic(client: RawClient, **settings: str) -> str:
    name = f"t{next(NUMBERS)}"
    create_topic(client, name, **settings)
    return name


def changed(good: bytearray, at: int, form: str, value: int, *, fix_crc: bool = True) -> bytearray:
    bad = bytearray(good)
    struct.pack_into(form, bad, at, value)
    if fix_crc:
        layout.patch_crc(bad, 0)
    return bad


def with_body(good: bytearray, body: bytes, codec: int) -> bytearray:
    """The same header around other bytes, with a length and a CRC that fit."""
    made = bytearray(good[: layout.HEADER.size]) + body
    struct.pack_into(">i", made, 8, len(made) - layout.OVERHEAD)
    struct.pack_into(">h", made, 21, codec)
    layout.patch_crc(made, 0)
    return made


def wrong_crc() -> bytearray:
    return changed(batch(b"v"), 17, ">I", 0x12345678, fix_crc=False)


def old_format(magic: int) -> bytes:
    """A message of format v0 or v1, whole and right by the rules of its time."""
    timestamp = b"" if magic == 0 else struct.pack(">q", now_ms())
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">i", -1) + struct.pack(">i", 1) + b"v"
    return struct.pack(">qi", 0, len(body) + 4) + struct.pack(">I", 0) + body


REFUSED: dict[str, tuple[Callable[[], Buffer | None], ErrorCode]] = {
    "no records": (lambda: None, ErrorCode.INVALID_RECORD),
    "no bytes": (lambda: b"", ErrorCode.INVALID_RECORD),
    "half a header": (lambda: batch(b"v")[:30], ErrorCode.INVALID_RECORD),
    "half a batch": (lambda: batch(b"v")[:-1], ErrorCode.INVALID_RECORD),
    "bytes after the batch": (lambda: batch(b"v") + b"?", ErrorCode.INVALID_RECORD),
    "two batches": (lambda: batch(b"v") + batch(b"w"), ErrorCode.INVALID_RECORD),
    "wrong CRC": (wrong_crc, ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (lambda: old_format(0), ErrorCode.INVALID_RECORD),
    "magic 1": (lambda: old_format(1), ErrorCode.INVALID_RECORD),
    "magic 3": (lambda: changed(batch(b"v"), 16, ">b", 3), ErrorCode.CORRUPT_MESSAGE),
    "magic -1": (lambda: changed(batch(b"v"), 16, ">b", -1), ErrorCode.CORRUPT_MESSAGE),
    "length 0": (lambda: changed(batch(b"v"), 8, ">i", 0, fix_crc=False), ErrorCode.CORRUPT_MESSAGE),
    "length -1": (lambda: changed(batch(b"v"), 8, ">i", -1, fix_crc=False), ErrorCode.CORRUPT_MESSAGE),
    "length 2^31-1": (
        lambda: changed(batch(b"v"), 8, ">i", 2**31 - 1, fix_crc=False),
        ErrorCode.INVALID_RECORD,
    ),
    "base offset 7": (lambda: changed(batch(b"v"), 0, ">q", 7), ErrorCode.INVALID_RECORD),
    "base offset -1": (lambda: changed(batch(b"v"), 0, ">q", -1), ErrorCode.INVALID_RECORD),
    "count -1": (lambda: changed(batch(b"v"), 57, ">i", -1), ErrorCode.INVALID_RECORD),
    "count 0": (lambda: changed(batch(b"v"), 57, ">i", 0), ErrorCode.INVALID_RECORD),
    "count 2^31-1": (lambda: changed(batch(b"v"), 57, ">i", 2**31 - 1), ErrorCode.INVALID_RECORD),
    "delta -1": (lambda: changed(batch(b"v"), 23, ">i", -1), ErrorCode.INVALID_RECORD),
    "delta beyond the count": (lambda: changed(batch(b"v", b"w"), 23, ">i", 5), ErrorCode.INVALID_RECORD),
    "more than its bytes can hold": (
        lambda: changed(changed(batch(b"v"), 57, ">i", 1000), 23, ">i", 999),
        ErrorCode.INVALID_RECORD,
    ),
    "compression 5": (lambda: changed(batch(b"v"), 21, ">h", 5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "compression 7": (lambda: changed(batch(b"v"), 21, ">h", 7), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "log append time": (lambda: changed(batch(b"v"), 21, ">h", 8), ErrorCode.INVALID_TIMESTAMP),
    "control batch": (
        lambda: write_control_batch(
            ControlType.COMMIT, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=now_ms()
        ),
        ErrorCode.INVALID_RECORD,
    ),
    "transactional": (
        lambda: batch(b"v", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    "producer without sequence": (
        lambda: batch(b"v", producer_id=1, producer_epoch=0),
        ErrorCode.INVALID_RECORD,
    ),
    "too large": (lambda: batch(bytes(1 << 20)), ErrorCode.MESSAGE_TOO_LARGE),
    "from the far future": (lambda: timed(now_ms() + 2 * HOUR_MS), ErrorCode.INVALID_TIMESTAMP),
    "from the end of time": (lambda: timed(2**63 - 1), ErrorCode.INVALID_TIMESTAMP),
}


def timed(timestamp: int) -> bytearray:
    return write_batch([Record(0, timestamp, b"k", b"v")])


@pytest.fixture(scope="module")
def shared_topic(broker: Broker) -> str:
    with RawClient(broker.port) as client:
        return fresh_topic(client)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_and_nothing_written(client: RawClient, shared_topic: str, case: str) -> None:
    make, code = REFUSED[case]
    before = offset_at(client, shared_topic)
    answer = produce(client, shared_topic, make())
    assert ErrorCode(answer.error_code) is code, answer.error_message
    assert answer.base_offset == -1
    assert offset_at(client, shared_topic) == before
    assert produce(client, shared_topic, batch(b"good")).base_offset == before


@pytest.mark.parametrize("acks", [2, -2, 127, -32768])
def test_acks_that_do_not_exist(client: RawClient, shared_topic: str, acks: int) -> None:
    before = offset_at(client, shared_topic)
    answer = produce(client, shared_topic, batch(b"v"), acks=acks)
    assert ErrorCode(answer.error_code) is ErrorCode.INVALID_REQUIRED_ACKS
    assert offset_at(client, shared_topic) == before


def test_an_error_without_acks_closes_the_connection(
    broker: Broker, client: RawClient, shared_topic: str, broker_log: Lines
) -> None:
    before = offset_at(client, shared_topic)
    client.send_request(ApiKey.PRODUCE, 12, produce_request(shared_topic, batch(b"v"), acks=0))
    with RawClient(broker.port) as bad:
        bad.send_request(ApiKey.PRODUCE, 12, produce_request(shared_topic, wrong_crc(), acks=0))
        assert bad.is_closed()
        assert any(bad.address in line and "acks=0" in line for line in broker_log.text)
    assert offset_at(client, shared_topic) == before + 1


def test_one_bad_partition_does_not_spoil_the_others(client: RawClient) -> None:
    topics = [fresh_topic(client) for _ in range(3)]
    request = produce_request(topics[0], batch(b"a"))
    request.topic_data += produce_request(topics[1], wrong_crc()).topic_data
    request.topic_data += produce_request(topics[2], batch(b"c")).topic_data
    request.topic_data += produce_request("nowhere", batch(b"d")).topic_data
    answer = client.ask(ApiKey.PRODUCE, request, 12)
    codes = [ErrorCode(topic.partition_responses[0].error_code) for topic in answer.responses]
    wanted = [
        ErrorCode.NONE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert codes == wanted
    assert [offset_at(client, name) for name in topics] == [1, 0, 1]


# Inside of a batch


@pytest.mark.parametrize("codec", [Codec.NONE, *COMPRESSED])
def test_an_inner_count_that_lies(client: RawClient, codec: Codec) -> None:
    """By default the inside of a batch is the producer's business; `records` walks it."""
    lying = changed(changed(batch(b"v" * 50, b"w" * 50, codec=codec), 57, ">i", 3), 23, ">i", 2)
    trusting = fresh_topic(client)
    assert produce(client, trusting, lying).error_code == ErrorCode.NONE
    assert offset_at(client, trusting) == 3
    checking = fresh_topic(client, produce_validation="records")
    assert ErrorCode(produce(client, checking, lying).error_code) is ErrorCode.INVALID_RECORD
    fewer = changed(changed(batch(b"v", b"w", codec=codec), 57, ">i", 1), 23, ">i", 0)
    assert ErrorCode(produce(client, checking, fewer).error_code) is ErrorCode.INVALID_RECORD
    assert offset_at(client, checking) == 0
    assert produce(client, checking, batch(b"v", b"w", codec=codec)).error_code == ErrorCode.NONE
    assert [record.value for record in read_all(client, checking)] == [b"v", b"w"]


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("settings", [{"produce_validation": "records"}, {"cleanup_policy": "compact"}])
def test_a_compressed_body_that_is_none(client: RawClient, codec: Codec, settings: dict[str, str]) -> None:
    topic = fresh_topic(client, **settings)
    for body in (b"", b"\x00", b"not compressed at all", compress(codec, bytes(1000))[:-3]):
        answer = produce(client, topic, with_body(batch(b"v"), body, codec))
        assert ErrorCode(answer.error_code) in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
    assert offset_at(client, topic) == 0
    assert produce(client, topic, batch(b"v", codec=codec)).error_code == ErrorCode.NONE


# length 6, attributes, time, offset, no key, no value, no headers; and one header without name and value
SMALLEST_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])
SMALLEST_HEADER = bytes([0, 1])


def many_records(count: int) -> bytearray:
    made = with_body(batch(b"v"), compress(Codec.ZSTD, SMALLEST_RECORD * count), Codec.ZSTD)
    return changed(changed(made, 57, ">i", count), 23, ">i", count - 1)


def many_headers(count: int) -> bytearray:
    fields = bytes([0, 0, 0, 2]) + b"k" + bytes([1]) + encode_varint(count) + SMALLEST_HEADER * count
    body = encode_varint(len(fields)) + fields
    return with_body(batch(b"v"), compress(Codec.ZSTD, body), Codec.ZSTD)


def zeros(count: int) -> bytearray:
    return with_body(batch(b"v"), compress(Codec.ZSTD, bytes(count)), Codec.ZSTD)


BOMBS: dict[str, Callable[[], bytearray]] = {
    "five million records": lambda: many_records(5_000_000),
    "as many records as a count may name": lambda: changed(
        changed(many_records(1000), 57, ">i", 2**31 - 1), 23, ">i", 2**31 - 2
    ),
    "twenty million headers": lambda: many_headers(20_000_000),
    "200 MiB of zeros": lambda: zeros(200 << 20),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize(
    "settings",
    [{"produce_validation": "records"}, {"compression_type": "lz4"}, {"cleanup_policy": "compact"}],
)
def test_a_decompression_bomb(client: RawClient, bomb: str, settings: dict[str, str]) -> None:
    records = BOMBS[bomb]()
    assert len(records) < 100_000
    topic = fresh_topic(client, **settings)
    with memory_growth_below(BOMB_MEMORY_MAX):
        answer = produce(client, topic, records)
    assert answer.error_code in (
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.CORRUPT_MESSAGE,
    )
    assert offset_at(client, topic) == 0


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_that_was_trusted_does_not_go_off_in_a_search_by_time(client: RawClient, bomb: str) -> None:
    topic = fresh_topic(client)
    produce(client, topic, BOMBS[bomb]())
    with memory_growth_below(BOMB_MEMORY_MAX):
        _every_time_lookup_is_answered(client, topic)


def test_records_that_do_not_count_up(client: RawClient) -> None:
    gap = write_batch([Record(0, now_ms(), b"k", b"v"), Record(2, now_ms(), b"k", b"w")])
    gap = changed(gap, 23, ">i", 1)
    topic = fresh_topic(client, produce_validation="records")
    assert ErrorCode(produce(client, topic, gap).error_code) is ErrorCode.INVALID_RECORD
    assert offset_at(client, topic) == 0


@pytest.mark.parametrize("settings", [{"produce_validation": "records"}, {"compression_type": "gzip"}])
@pytest.mark.parametrize("log_append_time", [False, True])
def test_times_beyond_the_end_of_time(
    client: RawClient, settings: dict[str, str], log_append_time: bool
) -> None:
    """A base of today and a difference of 2^63: no record may end up with a time of 65 bits."""
    base = now_ms()
    good = write_batch([Record(0, base, b"k", b"v"), Record(1, base + 2**62, b"k", b"w")])
    beyond = changed(changed(good, 27, ">q", 2**62), 35, ">q", 2**62)
    if log_append_time:
        settings = {**settings, "message_timestamp_type": "LogAppendTime"}
    topic = fresh_topic(client, message_timestamp_after_max_ms=str(2**63 - 1), **settings)
    answer = produce(client, topic, beyond)
    assert ErrorCode(answer.error_code) in (
        ErrorCode.NONE,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_RECORD,
    )
    _every_time_lookup_is_answered(client, topic)


def test_times_inside_of_a_trusted_batch_are_looked_up_safely(client: RawClient) -> None:
    base = now_ms()
    good = write_batch([Record(0, 0, b"k", b"v"), Record(1, 2**63 - 1, b"k", b"w")])
    hidden = changed(changed(good, 27, ">q", base), 35, ">q", base)  # the header says that all is well
    topic = fresh_topic(client)
    assert produce(client, topic, hidden).error_code == ErrorCode.NONE
    lying = changed(changed(batch(b"v" * 50, codec=Codec.ZSTD), 57, ">i", 9), 23, ">i", 8)
    assert produce(client, topic, lying).error_code == ErrorCode.NONE
    garbage = with_body(batch(b"v"), b"no zstd", Codec.ZSTD)
    assert produce(client, topic, garbage).error_code == ErrorCode.NONE
    _every_time_lookup_is_answered(client, topic)


def _every_time_lookup_is_answered(client: RawClient, topic: str) -> None:
    times = [0, 1, now_ms() - HOUR_MS, now_ms(), 2**62, 2**63 - 1, -1, -2, -3, -4, -5, -6, -7, -(2**63)]
    for timestamp in times:
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
        client.ask(ApiKey.LIST_OFFSETS, request)


# What topics ask for


def test_timestamps_beyond_the_limits_of_a_topic(client: RawClient) -> None:
    topic = fresh_topic(
        client, message_timestamp_before_max_ms="60000", message_timestamp_after_max_ms="60000"
    )
    for timestamp in (0, now_ms() - 120_000, now_ms() + 120_000):
        assert ErrorCode(produce(client, topic, timed(timestamp)).error_code) is ErrorCode.INVALID_TIMESTAMP
    assert offset_at(client, topic) == 0
    assert produce(client, topic, timed(now_ms())).error_code == ErrorCode.NONE
    assert produce(client, topic, timed(-1)).error_code == ErrorCode.NONE  # no time at all


@pytest.mark.parametrize("codec", [Codec.NONE, *COMPRESSED])
def test_a_compacted_topic_needs_keys(client: RawClient, codec: Codec) -> None:
    topic = fresh_topic(client, cleanup_policy="compact")
    assert produce(client, topic, batch(b"v", key=None, codec=codec)).error_code == ErrorCode.INVALID_RECORD
    assert offset_at(client, topic) == 0
    assert produce(client, topic, batch(b"v", None, codec=codec)).error_code == ErrorCode.NONE


def test_larger_than_the_topic_allows(client: RawClient) -> None:
    topic = fresh_topic(client, max_message_bytes="1000")
    assert produce(client, topic, batch(bytes(1000))).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(client, topic, batch(bytes(800))).error_code == ErrorCode.NONE
    assert offset_at(client, topic) == 1


# Idempotent producers


def numbered(producer_id: int, sequence: int, *values: bytes, epoch: int = 0) -> bytearray:
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_sequences_of_an_idempotent_producer(client: RawClient) -> None:
    topic = fresh_topic(client)
    given = client.ask(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id=None))
    me = given.producer_id
    assert produce(client, topic, batch(b"somebody else's")).base_offset == 0
    assert produce(client, topic, numbered(me, 0, b"a", b"b")).base_offset == 1
    assert produce(client, topic, numbered(me, 2, b"c")).base_offset == 3
    # A retry is told where its records are, and they stay there once.
    assert produce(client, topic, numbered(me, 0, b"a", b"b")).base_offset == 1
    assert produce(client, topic, numbered(me, 2, b"c")).base_offset == 3
    for sequence in (5, 1, 2**31 - 1):
        gap = produce(client, topic, numbered(me, sequence, b"x", b"y"))
        assert ErrorCode(gap.error_code) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert offset_at(client, topic) == 4
    # A new epoch begins at 0; the old one is over.
    late = produce(client, topic, numbered(me, 7, b"x", epoch=1))
    assert ErrorCode(late.error_code) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(client, topic, numbered(me, 0, b"d", epoch=1)).base_offset == 4
    old = produce(client, topic, numbered(me, 3, b"x"))
    assert ErrorCode(old.error_code) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert [record.value for record in read_all(client, topic)] == [
        b"somebody else's",
        b"a",
        b"b",
        b"c",
        b"d",
    ]


def test_the_first_offset_is_zero_and_stays(client: RawClient) -> None:
    topic = fresh_topic(client)
    for make, _ in REFUSED.values():
        produce(client, topic, make())
    assert (offset_at(client, topic, EARLIEST), offset_at(client, topic)) == (0, 0)

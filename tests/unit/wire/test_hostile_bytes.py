"""Bytes from an attacker: each is refused with ProtocolError, at once, and without much memory."""

import time
import tracemalloc
from random import Random

import pytest

from tests.rigs.random_messages import random_message
from tidelog.base.errors import ProtocolError
from tidelog.wire.apis import API
from tidelog.wire.codec import decode, encode
from tidelog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.wire.messages.fetch import FetchRequest, FetchResponse
from tidelog.wire.messages.join_group import JoinGroupRequest
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest
from tidelog.wire.messages.produce import ProduceRequest
from tidelog.wire.primitives import DECODED_BYTES_MAX, PLAIN_BYTES_MAX, uvarint


def refused(cls, version, wire):
    with pytest.raises(ProtocolError) as caught:
        decode(cls, version, bytes.fromhex(wire) if isinstance(wire, str) else wire)
    return str(caught.value)


def every_message():
    for spec in API.values():
        for cls in (spec.request_class(), spec.response_class()):
            for version in {spec.min_version, spec.max_version, (spec.min_version + spec.max_version) // 2}:
                yield cls, version


def test_a_truncated_or_too_long_message_is_refused():
    rng = Random(2)
    for cls, version in every_message():
        wire = b"".join(encode(random_message(cls, version, rng), version))
        for length in {0, len(wire) // 2, len(wire) - 1, rng.randrange(len(wire) + 1)} - {len(wire)}:
            if length >= 0 and len(wire):
                refused(cls, version, wire[:length])
        refused(cls, version, wire + b"\x00")


def test_every_truncation_of_one_message():
    wire = b"".join(encode(random_message(FetchResponse, 16, Random(5)), 16))[:3000]
    for length in range(len(wire)):
        refused(FetchResponse, 16, wire[:length])


def mutate(wire, rng):
    out = bytearray(wire)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0 if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + rng.choice((1, 2, 4, 8))] = rng.choice(
                    (b"\xff", b"\x7f\xff\xff\xff", b"\x80" * 6)
                )
            case 2:
                out[at:at] = rng.randbytes(rng.choice((1, 4)))
            case 3:
                del out[at : at + rng.choice((1, 2, 16))]
            case _:
                out[at : at + 5] = uvarint(rng.choice((0, 1, 127, 128, 2**31 - 1, 2**31, 2**32 - 1)))
    return bytes(out)


def test_mutated_messages_are_read_or_refused():
    rng = Random(3)
    slowest = refusals = tries = 0
    for cls, version in every_message():
        wire = b"".join(encode(random_message(cls, version, rng), version))
        for _ in range(6):
            hostile = mutate(wire, rng)
            start = time.process_time()
            tries += 1
            try:
                decode(cls, version, hostile)
            except ProtocolError:
                refusals += 1
            slowest = max(slowest, time.process_time() - start)
    assert slowest < 0.5
    assert tries / 4 < refusals < tries


def test_random_bytes_are_read_or_refused():
    rng = Random(4)
    for cls, version in every_message():
        for size in (0, 1, 2, 8, 40, 300):
            try:
                decode(cls, version, rng.randbytes(size))
            except ProtocolError:
                pass


@pytest.mark.parametrize(
    ("cls", "version", "wire"),
    [
        (MetadataRequest, 0, "ffffffff"),  # null where version 0 has none
        (MetadataRequest, 1, "fffffffe"),  # -2 elements
        (MetadataRequest, 0, "7fffffff"),
        (MetadataRequest, 0, "00000001 ffff"),  # a null name
        (MetadataRequest, 0, "00000001 fffe"),
        (MetadataRequest, 0, "00000001 8000"),
        (MetadataRequest, 0, "00000001 0002 c328"),  # not UTF-8
        (MetadataRequest, 0, "00000001 0003 eda080"),  # a surrogate
        (MetadataRequest, 9, "ffffffff0f"),
        (MetadataRequest, 9, "ffffffffff7f"),
        (MetadataRequest, 9, "02 00 00 000000 00"),  # a null name
        (ApiVersionsRequest, 3, "8080020000"),  # a string of 32 768 bytes
        (JoinGroupRequest, 0, "0000 00000000 0000 0000 00000001 0000 fffffffe"),
        (JoinGroupRequest, 0, "0000 00000000 0000 0000 00000001 0000 7fffffff 00"),
        (ProduceRequest, 3, "ffff 0000 00000000 00000001 0000 00000001 00000000 80000000"),
        (ProduceRequest, 9, "00 0000 00000000 02 01 02 00000000 ffffffff0f"),
        (ProduceRequest, 9, "00 0000 00000000 02 01 02 00000000 ff01"),
    ],
)
def test_bad_lengths_and_strings(cls, version, wire):
    refused(cls, version, wire)


API_VERSIONS = "0000 01 00000000"


@pytest.mark.parametrize(
    "tags",
    [
        "02 0300 0300",  # the same tag twice
        "02 0400 0300",  # falling
        "02 0301 01 0301 01",  # a known tag twice
        "01 0302 0101",  # the size is more than the value
        "01 0300",  # the size is less than the value
        "01 03ffffffff0f 01",
        "02 0301 01",  # a tag is missing
        "ffffffff0f",
        "01 ffffffffff0f 00",
        "01 0105 01000000",
    ],
)
def test_bad_tags(tags):
    refused(ApiVersionsResponse, 3, API_VERSIONS + tags)


def test_unknown_tags_around_a_known_one_are_skipped():
    wire = bytes.fromhex(API_VERSIONS + "03 0301 01 0900 8001 02 aaaa")
    assert decode(ApiVersionsResponse, 3, wire).zk_migration_ready is True
    assert decode(ApiVersionsRequest, 3, bytes.fromhex("01 01 02 0001ff 0700")) == ApiVersionsRequest()


def test_a_count_that_the_frame_cannot_hold():
    assert "counts more" in refused(MetadataRequest, 9, uvarint(1000) + b"\x01\x00" * 998 + b"\x00")


def measured_refusal(cls, version, wire):
    """What a refusal costs: the message, bytes at the peak, seconds."""
    with pytest.raises(ProtocolError):
        decode(cls, version, b"")  # compile first
    tracemalloc.start()
    start = time.process_time()
    text = refused(cls, version, wire)
    taken, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return text, peak, taken


def test_tiny_elements_do_not_become_gigabytes():
    count = (PLAIN_BYTES_MAX - 100) // 2
    wire = uvarint(count + 1) + b"\x01\x00" * count + b"\x00\x00\x00"
    text, peak, taken = measured_refusal(MetadataRequest, 9, wire)
    assert "would take" in text
    assert peak < len(wire) + (1 << 20)  # a message without records is copied once
    assert taken < 0.5


def test_many_small_arrays_share_one_limit():
    topics = b"\x01" + uvarint(1001) + bytes(4000) + b"\x00"  # one topic with 1000 partition numbers
    group = b"\x01" + uvarint(51) + topics * 50 + b"\x00"
    wire = uvarint(61) + group * 60 + b"\x00\x00"
    assert len(wire) < PLAIN_BYTES_MAX
    text, peak, _ = measured_refusal(OffsetFetchRequest, 8, wire)
    assert "would take" in text
    assert peak < DECODED_BYTES_MAX


def test_produce_frames_are_limited_by_their_objects_not_their_bytes():
    partition = b"\x00\x00\x00\x00\x01\x00"
    count = 1_000_000
    wire = b"\x00" + bytes(6) + b"\x02\x01" + uvarint(count + 1) + partition * count + b"\x00\x00"
    text, peak, taken = measured_refusal(ProduceRequest, 9, wire)
    assert "would take" in text
    assert peak < 1 << 20
    assert taken < 0.5


def test_a_storm_of_unknown_tags_is_refused():
    tags = b"".join(uvarint(tag) + b"\x00" for tag in range(DECODED_BYTES_MAX // 64 // 4))
    wire = b"\x01\x01" + uvarint(DECODED_BYTES_MAX // 64 + 1) + tags
    assert "would take" in refused(ApiVersionsRequest, 3, wire)


def test_a_message_without_records_has_a_limit_of_its_own():
    text, peak, _ = measured_refusal(FetchRequest, 12, bytes(PLAIN_BYTES_MAX + 1))
    assert "without records" in text
    assert peak < 1 << 20

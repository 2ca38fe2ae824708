"""Records of the new kind of group, byte for byte as Kafka writes them, and read back."""

import pytest

from tidelog.groups.record_formats import consumer_group as formats
from tidelog.groups.record_formats.consumer_group import (
    ClassicProtocols,
    ConsumerTarget,
    GroupEpoch,
    Key,
    ResolvedPattern,
    Subscription,
)
from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.holding import Holding, MemberState

TOPIC = bytes(range(16))
PARTITIONS = bytes.fromhex("02") + TOPIC + bytes.fromhex("03 00000001 00000002 00")


def test_keys():
    assert encode_key(Key.GROUP, "g") == bytes.fromhex("0003 0001 67")
    assert encode_key(Key.MEMBER, "g", "m") == bytes.fromhex("0005 0001 67 0001 6d")
    assert encode_key(Key.PATTERN, "g", "a*") == bytes.fromhex("0010 0001 67 0002 612a")
    for key in Key:
        name = "m" if key in (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING, Key.PATTERN) else None
        assert formats.decode_key(encode_key(key, "g", name)) == (key, "g", name or "")


@pytest.mark.parametrize(
    ("encode", "decode", "value", "encoded"),
    [
        (formats.encode_group, formats.decode_group, GroupEpoch(7), "0000 00000007 00"),
        (
            formats.encode_group,
            formats.decode_group,
            GroupEpoch(7, -2),
            "0000 00000007 01 00 08 fffffffffffffffe",
        ),
        (formats.encode_target_epoch, formats.decode_target_epoch, ConsumerTarget(9), "0000 00000009 00"),
        (
            formats.encode_target_epoch,
            formats.decode_target_epoch,
            ConsumerTarget(9, 1_700_000_000_000),
            "0000 00000009 01 00 08 0000018bcfe56800",
        ),
        (formats.encode_target, formats.decode_target, {}, "0000 01 00"),
        (
            formats.encode_target,
            formats.decode_target,
            {TOPIC: frozenset({2, 1})},
            f"0000 {PARTITIONS.hex()} 00",
        ),
        (
            formats.encode_holding,
            formats.decode_holding,
            Holding(3, 2, MemberState.UNREVOKED_PARTITIONS, {TOPIC: frozenset({1, 2})}, {}),
            f"0000 00000003 00000002 01 {PARTITIONS.hex()} 01 00",
        ),
        (
            formats.encode_pattern,
            formats.decode_pattern,
            ResolvedPattern(frozenset({"b", "a"}), 5, 6),
            "0000 03 02 61 02 62 0000000000000005 0000000000000006 00",
        ),
        (
            formats.encode_member,
            formats.decode_member,
            Subscription("i", None, "c", "/h", ("t",), None, 1000, "uniform"),
            "0000 02 69 00 02 63 03 2f68 02 02 74 00 000003e8 08 756e69666f726d 00",
        ),
        (
            formats.encode_member,
            formats.decode_member,
            Subscription(topic_regex="x", classic=ClassicProtocols(16, (("r", b"\x09"),))),
            "0000 00 00 01 01 01 02 78 ffffffff 00 01 00 0c 01 00000010 02 02 72 02 09 00 00",
        ),
    ],
)
def test_values(encode, decode, value, encoded):
    assert encode(value) == bytes.fromhex(encoded)
    assert decode(bytes.fromhex(encoded)) == value


def test_tagged_fields_of_later_versions_are_passed_over():
    later = bytes.fromhex("0000 00000007 02 00 08 0000000000000005 01 08 0000000000000009")
    assert formats.decode_group(later) == GroupEpoch(7, 5)


def test_a_state_of_a_later_version_is_unknown():
    encoded = bytearray(formats.encode_holding(Holding(3, 2)))
    encoded[10] = 9
    assert formats.decode_holding(bytes(encoded)).state is MemberState.UNKNOWN


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00\x00\x00\x01\x00", b"\x00\x00\x00"])
def test_what_cannot_be_read(data):
    with pytest.raises(CorruptGroupRecord):
        formats.decode_group(data)


def test_counts_larger_than_the_record_are_refused():
    with pytest.raises(CorruptGroupRecord):
        formats.decode_target(bytes.fromhex("0000 ffffffff0f"))

"""Records of share groups, byte for byte as Kafka 4.3 writes them, and read back."""

import pytest

from tidelog.groups.record_formats import share_group as formats
from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.holding import Holding
from tidelog.groups.record_formats.share_group import (
    Key,
    NamedPartitions,
    ShareEpoch,
    ShareSubscription,
    ShareTarget,
    StoredStates,
)

T, U = bytes(range(16)), bytes(range(16, 32))
PARTITIONS = {T: frozenset({3, 0})}
STATES = StoredStates(
    {T: NamedPartitions("a", frozenset({2}))}, {T: NamedPartitions("a", frozenset({0, 1}))}, {U: "b"}
)
IN_KAFKA = {
    "group": ("group", ShareEpoch(7, -2), "000000000007fffffffffffffffe00"),
    "member": (
        "member",
        ShareSubscription("r1", "c", "/10.0.0.1", ("a", "b")),
        "000003723102630a2f31302e302e302e31030261026200",
    ),
    "a member without a rack": (
        "member",
        ShareSubscription(None, "c", "/10.0.0.1", ("a",)),
        "00000002630a2f31302e302e302e3102026100",
    ),
    "target": ("target_epoch", ShareTarget(7, 1_700_000_000_000), "0000000000070100080000018bcfe56800"),
    "a target without a time": ("target_epoch", ShareTarget(7), "00000000000700"),
    "target of a member": (
        "target",
        PARTITIONS,
        "000002000102030405060708090a0b0c0d0e0f0300000000000000030000",
    ),
    "holding": (
        "holding",
        Holding(7, 6, assigned=PARTITIONS),
        "000000000007000000060002000102030405060708090a0b0c0d0e0f0300000000000000030000",
    ),
    "states": (
        "states",
        STATES,
        "000002000102030405060708090a0b0c0d0e0f026102000000020002000102030405060708090a0b0c0d0e0f"
        "02610300000000000000010002101112131415161718191a1b1c1d1e1f02620000",
    ),
}


def test_keys():
    assert encode_key(Key.GROUP, "g").hex() == "000b000167"
    assert encode_key(Key.MEMBER, "g", "m").hex() == "000a00016700016d"
    assert encode_key(Key.STATES, "g").hex() == "000f000167"
    for key in Key:
        name = "m" if key in (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING) else None
        assert formats.decode_key(encode_key(key, "g", name)) == (key, "g", name or "")


@pytest.mark.parametrize(("kind", "value", "written"), IN_KAFKA.values(), ids=IN_KAFKA)
def test_values(kind, value, written):
    encode, decode = getattr(formats, f"encode_{kind}"), getattr(formats, f"decode_{kind}")
    assert encode(value).hex() == written
    assert decode(bytes.fromhex(written)) == value
    for short in range(len(written) // 2 - 1):
        with pytest.raises(CorruptGroupRecord):
            decode(bytes.fromhex(written)[:short])


def test_an_unknown_version_is_refused():
    with pytest.raises(CorruptGroupRecord, match="version 1"):
        formats.decode_group(bytes.fromhex("0001000000070000"))

"""Records of streams groups, byte for byte as Kafka 4.3 writes them, and read back."""

import pytest

from tidelog.groups.record_formats import streams_group as formats
from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.holding import Holding, MemberState
from tidelog.groups.record_formats.streams_group import (
    Key,
    StreamsEpoch,
    StreamsMember,
    TargetEpoch,
    new_topology,
)
from tidelog.groups.record_formats.tasks import Duty, Role
from tidelog.wire.messages.streams_group_heartbeat import CopartitionGroup, KeyValue, Subtopology, TopicInfo

ACTIVE, STANDBY = Duty(Role.ACTIVE, "0"), Duty(Role.STANDBY, "1")
MEMBER = StreamsMember("r", "c", "/h", 1000, 2, "p", ("e", 40_000), (("z", "1"),))
HOLDING = Holding(
    5,
    4,
    MemberState.UNREVOKED_PARTITIONS,
    {ACTIVE: frozenset({2, 1}), STANDBY: frozenset({0})},
    {ACTIVE: frozenset({0})},
    {(ACTIVE, 1): 3, (ACTIVE, 2): 5, (ACTIVE, 0): 2},
)
TOPOLOGY = new_topology(
    1,
    [
        Subtopology(
            subtopology_id="0",
            source_topics=["in"],
            state_changelog_topics=[TopicInfo("log", 0, 2, [KeyValue("k", "v")])],
            repartition_sink_topics=["rep"],
            copartition_groups=[CopartitionGroup(source_topics=[0])],
        )
    ],
)


def test_keys():
    assert encode_key(Key.GROUP, "g") == bytes.fromhex("0011 0001 67")
    assert encode_key(Key.MEMBER, "g", "m") == bytes.fromhex("0013 0001 67 0001 6d")
    for key in Key:
        name = "m" if key in (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING) else None
        assert formats.decode_key(encode_key(key, "g", name)) == (key, "g", name or "")


@pytest.mark.parametrize(
    ("encode", "decode", "value", "encoded"),
    [
        (
            formats.encode_group,
            formats.decode_group,
            StreamsEpoch(7, -2, 3, (("num.standby.replicas", "1"),)),
            "000000000007fffffffffffffffe02000400000003011902156e756d2e7374616e6462792e7265706c69636173023100",
        ),
        (formats.encode_group, formats.decode_group, StreamsEpoch(7, 5), "000000000007000000000000000500"),
        (
            formats.encode_member,
            formats.decode_member,
            MEMBER,
            "00000002720263032f68000003e80000000202700102659c400002027a02310000",
        ),
        (
            formats.encode_member,
            formats.decode_member,
            MEMBER._replace(rack_id=None, endpoint=None, client_tags=()),
            "000000000263032f68000003e8000000020270ff0100",
        ),
        (
            formats.encode_target_epoch,
            formats.decode_target_epoch,
            TargetEpoch(9, 77),
            "000000000009010008000000000000004d",
        ),
        (
            formats.encode_target,
            formats.decode_target,
            {STANDBY: frozenset({0}), ACTIVE: frozenset({2, 1})},
            "0000020230030000000100000002000202310200000000000100",
        ),
        (
            formats.encode_holding,
            formats.decode_holding,
            HOLDING,
            "00000000000500000004010202300300000001000000020100090300000003000000050202310200000000000102023002"
            "000000000100050200000002010100",
        ),
        (
            formats.encode_topology,
            formats.decode_topology,
            TOPOLOGY,
            "0000000000010202300203696e0102046c6f6700000000000202026b02760000020472657001020200000101000000",
        ),
    ],
)
def test_values(encode, decode, value, encoded):
    assert encode(value).hex() == encoded
    assert decode(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00", b"\x00\x00\x00"])
def test_other_bytes_are_refused_as_corrupt(data):
    for decode in (
        formats.decode_group,
        formats.decode_member,
        formats.decode_target,
        formats.decode_holding,
    ):
        with pytest.raises(CorruptGroupRecord):
            decode(data)


def test_a_state_of_a_later_version_is_not_known():
    later = formats.encode_holding(HOLDING).replace(b"\x00\x00\x00\x04\x01", b"\x00\x00\x00\x04\x09", 1)
    assert formats.decode_holding(later).state is MemberState.UNKNOWN

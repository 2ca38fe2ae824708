"""What consumers of the classic protocol tell each other."""

import pytest

from tidelog.base.errors import StorageError
from tidelog.groups.consumer.embedded_protocol import (
    by_id,
    by_name,
    read_assignment,
    read_subscription,
    write_assignment,
)
from tidelog.groups.consumer.topics import TopicInfo, Topics

V0 = bytes.fromhex("0000 00000001 0001 74 ffffffff")
V1 = bytes.fromhex("0001 00000001 0001 74 00000001 ff 00000001 0001 74 00000002 00000000 00000003")
V3 = bytes.fromhex("0003 00000000 ffffffff 00000000 00000007 0002 7231")


def test_subscriptions_of_all_versions():
    assert read_subscription(V0) == (0, ("t",), {}, None)
    assert read_subscription(V1) == (1, ("t",), {"t": frozenset({0, 3})}, None)
    assert read_subscription(V3) == (3, (), {}, "r1")
    assert read_subscription(b"\x00\x09" + V3[2:] + b"more").rack_id == "r1"


def test_assignments():
    written = write_assignment({"t": frozenset({1, 0})}, 1)
    assert written == bytes.fromhex("0001 00000001 0001 74 00000002 00000000 00000001 ffffffff")
    assert read_assignment(written) == {"t": frozenset({0, 1})}
    assert read_assignment(b"") == {}


def test_names_and_ids():
    topics = Topics({"t": TopicInfo(b"t" * 16, 2)})
    assert by_id({"t": frozenset({1}), "gone": frozenset({1})}, topics) == {b"t" * 16: frozenset({1})}
    assert by_name({b"t" * 16: frozenset({1}), b"g" * 16: frozenset({1})}, topics) == {"t": frozenset({1})}


@pytest.mark.parametrize("data", [b"", b"\xff\xff\x00\x00\x00\x00", V1[:-1], b"\x00\x00\x7f\xff\xff\xff"])
def test_what_cannot_be_read(data):
    with pytest.raises(StorageError):
        read_subscription(data)

import struct

from tidelog.groups.consumer_protocol import subscribed_topics


def subscription(*topics: str, version: int = 3) -> bytes:
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", version, len(topics)) + names + b"what later versions add"


def test_topics_of_all_members():
    members = [subscription("a", "b"), subscription("b", "c", version=0), subscription()]
    assert subscribed_topics(members) == {"a", "b", "c"}
    assert subscribed_topics([]) == frozenset()


def test_what_cannot_be_read_makes_the_whole_unknown():
    assert subscribed_topics([subscription("a"), b"\x00"]) is None
    assert subscribed_topics([b"\xff\xff\x00\x00\x00\x00"]) is None
    assert subscribed_topics([b""]) is None

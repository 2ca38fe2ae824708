"""Looks into what consumers tell each other: the topics that a member of a `consumer` group subscribes to.

A subscription is opaque to the coordinator but for its first part, which all versions share:
    version i16, topics []string
"""

from collections.abc import Iterable

from tidelog.base.errors import StorageError
from tidelog.groups.record_formats.fields import FieldReader, decoding

PROTOCOL_TYPE = "consumer"


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all members; None where one of them cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            topics.update(decoding("a subscription", subscription, _topics))
    except StorageError:
        return None
    return frozenset(topics)


def _topics(reader: FieldReader) -> list[str]:
    if reader.i16() < 0:
        raise ValueError("the version is negative")
    return [reader.string() for _ in range(reader.count())]

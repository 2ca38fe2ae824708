"""One group at one partition: whose state is stored, and how FindCoordinator names it."""

from functools import lru_cache
from typing import NamedTuple

from tidelog.base.ids import Uuid, uuid_parse, uuid_text
from tidelog.coordination.placement import CACHED_CHARS_MAX


class SharePlace(NamedTuple):
    group_id: str
    topic_id: Uuid
    partition: int


def coordinator_key(place: SharePlace) -> str:
    """Returns the key by which Kafka places the state on a partition of `__share_group_state`."""
    key_of = _cached_key if len(place.group_id) <= CACHED_CHARS_MAX else _key_of
    return key_of(place)


def place_of_key(key: str) -> SharePlace:
    """ValueError says what is wrong with the key. A group id may contain colons."""
    parts = key.rsplit(":", 2)
    if len(parts) != 3 or not parts[0].strip():
        raise ValueError(f"the key {key!r} is not of the form group:topic id:partition")
    try:
        return SharePlace(parts[0], uuid_parse(parts[1]), int(parts[2]))
    except ValueError as error:
        raise ValueError(f"the key {key!r} is not of the form group:topic id:partition: {error}") from None


def _key_of(place: SharePlace) -> str:
    return f"{place.group_id}:{uuid_text(place.topic_id)}:{place.partition}"


_cached_key = lru_cache(8192)(_key_of)

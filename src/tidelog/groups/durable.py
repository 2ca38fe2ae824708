"""The state of a shard that must survive: exactly what its records say, and nothing else.

`replay` is the only place it changes: right after an append, and again when a new coordinator loads.
"""

from enum import Enum
from typing import NamedTuple

from tidelog.base.ids import NO_PRODUCER, ProducerId
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.replay import replay as replay_consumer_group
from tidelog.groups.offsets.committed import OffsetStore
from tidelog.groups.offsets.pending import PendingOffsets
from tidelog.groups.record_formats import group_metadata, offset_commit
from tidelog.groups.record_formats.consumer_group import Key
from tidelog.groups.record_formats.group_metadata import StoredGroup
from tidelog.groups.record_formats.offset_commit import OffsetKey
from tidelog.groups.record_formats.share_group import Key as ShareKey
from tidelog.groups.record_formats.streams_group import Key as StreamsKey
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.replay import replay as replay_share_group
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.replay import replay as replay_streams_group

_CONSUMER_KEYS = frozenset(Key)
_STREAMS_KEYS = frozenset(StreamsKey)
_SHARE_KEYS = frozenset(ShareKey)


class Change(Enum):
    OFFSET = "an offset was committed"
    PENDING_OFFSET = "an offset was committed within a transaction"
    OFFSET_GONE = "an offset was deleted"
    GROUP = "a classic group was stored"
    GROUP_GONE = "a classic group was deleted"
    EPOCH_GROUP = "something of a group with epochs, of consumers, streams or shares, was stored"
    EPOCH_GROUP_GONE = "a group with epochs was deleted"


class Replayed(NamedTuple):
    change: Change
    group_id: str
    group: ConsumerGroup | StreamsGroup | ShareGroup | None = None
    """The group with epochs that was stored."""


class DurableState:
    __slots__ = (
        "classic_groups",
        "consumer_groups",
        "offsets",
        "pending",
        "share_groups",
        "skipped",
        "streams_groups",
    )

    def __init__(self) -> None:
        self.classic_groups: dict[str, StoredGroup] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.streams_groups: dict[str, StreamsGroup] = {}
        self.share_groups: dict[str, ShareGroup] = {}
        self.offsets = OffsetStore()
        self.pending = PendingOffsets()
        self.skipped = 0
        """Records of kinds that this version does not know, left alone as Kafka does."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DurableState)
            and self.classic_groups == other.classic_groups
            and self.consumer_groups == other.consumer_groups
            and self.streams_groups == other.streams_groups
            and self.share_groups == other.share_groups
            and self.offsets == other.offsets
            and self.pending == other.pending
        )

    __hash__ = None  # type: ignore[assignment]

    def replay(
        self, key: bytes, value: bytes | None, producer_id: ProducerId = NO_PRODUCER
    ) -> Replayed | None:
        """What a record changed, and for which group; None for a kind of record that is not known.

        `producer_id` of the transaction that the record is part of.
        """
        version = int.from_bytes(key[:2], "big")
        if version in (0, 1):
            return self._replay_offset(offset_commit.decode_key(key), value, producer_id)
        if version == group_metadata.KEY_VERSION:
            return self._replay_group(key, value)
        if version in _CONSUMER_KEYS:
            group_id = replay_consumer_group(self.consumer_groups, key, value)
            return _replayed(group_id, self.consumer_groups.get(group_id))
        if version in _STREAMS_KEYS:
            group_id = replay_streams_group(self.streams_groups, key, value)
            return _replayed(group_id, self.streams_groups.get(group_id))
        if version in _SHARE_KEYS:
            group_id = replay_share_group(self.share_groups, key, value)
            return _replayed(group_id, self.share_groups.get(group_id))
        self.skipped += 1
        return None

    def _replay_offset(self, key: OffsetKey, value: bytes | None, producer_id: ProducerId) -> Replayed:
        if value is None:
            self.offsets.remove(*key)
            if self.pending:
                self.pending.remove(key)
            return Replayed(Change.OFFSET_GONE, key.group_id)
        committed = offset_commit.decode_value(value)
        if producer_id != NO_PRODUCER:
            self.pending.put(producer_id, key, committed)
            return Replayed(Change.PENDING_OFFSET, key.group_id)
        self.offsets.put(*key, committed)
        if self.pending:
            self.pending.supersede(key)
        return Replayed(Change.OFFSET, key.group_id)

    def end_transaction(self, producer_id: ProducerId, commit: bool) -> None:
        """A marker came: what the producer committed within its transaction counts now, or never did."""
        for key, committed in self.pending.end(producer_id, commit).items():
            self.offsets.put(*key, committed)

    def _replay_group(self, key: bytes, value: bytes | None) -> Replayed:
        group_id = group_metadata.decode_key(key)
        if value is None:
            self.classic_groups.pop(group_id, None)
            return Replayed(Change.GROUP_GONE, group_id)
        self.classic_groups[group_id] = group_metadata.decode_value(value)
        return Replayed(Change.GROUP, group_id)


def _replayed(group_id: str, group: ConsumerGroup | StreamsGroup | ShareGroup | None) -> Replayed:
    return Replayed(Change.EPOCH_GROUP_GONE if group is None else Change.EPOCH_GROUP, group_id, group)

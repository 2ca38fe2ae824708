"""A group of the new kind: exactly what its records say, and what follows from that.

Everything about such a group is durable but the timers, so this object is both the state that replay changes
and what requests look at. Decisions never change it: they work on a `Draft`.
"""

from collections import Counter

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.coordination.decision import StateRecord
from tidelog.groups.consumer.epoch_group import EpochGroup, Records
from tidelog.groups.consumer_protocol import PROTOCOL_TYPE
from tidelog.groups.group import GroupKind
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.record_formats import consumer_group as formats
from tidelog.groups.record_formats.consumer_group import (
    ConsumerTarget,
    GroupEpoch,
    Key,
    ResolvedPattern,
    Subscription,
)
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.step import Step

NO_SUBSCRIPTION = Subscription()
COMMITS_WITH_EPOCH_FROM = 9


class ConsumerGroup(EpochGroup[Subscription, Uuid]):
    kind = GroupKind.CONSUMER
    protocol_type = PROTOCOL_TYPE
    records = Records(
        Key.GROUP,
        Key.MEMBER,
        Key.TARGET,
        Key.TARGET_OF_MEMBER,
        Key.HOLDING,
        formats.encode_member,
        formats.decode_member,
        formats.encode_target,
        formats.decode_target,
        formats.encode_holding,
        formats.decode_holding,
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.patterns: dict[str, ResolvedPattern] = {}
        self.has_topics_record = False
        """A record of the topics as Kafka wrote it before 4.1; deleted with the group."""
        self.static_ids: dict[str, str] = {}
        """Instance id to the member id that holds it now."""
        self.classic_members = 0
        self._reading: Counter[str] = Counter()  # topic name to how many members name it

    # --- the changes that records make

    def put_epoch(self, value: GroupEpoch) -> None:
        self.epoch, self.metadata_hash = value

    def put_target_epoch(self, value: ConsumerTarget) -> None:
        self.target_epoch, self.assigned_ms = value

    def put_member(self, member_id: str, member: Subscription) -> None:
        self._uncount(member_id)
        super().put_member(member_id, member)
        self._reading.update(member.topic_names)
        self.classic_members += member.classic is not None
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member_id

    def remove_member(self, member_id: str) -> None:
        self._uncount(member_id)
        member = self.members.get(member_id, NO_SUBSCRIPTION)
        super().remove_member(member_id)
        # A static member that was replaced holds its instance id no more.
        if member.instance_id is not None and self.static_ids.get(member.instance_id) == member_id:
            del self.static_ids[member.instance_id]

    def _uncount(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None:
            self.classic_members -= member.classic is not None
            self._reading.subtract(member.topic_names)
            for name in member.topic_names:
                if not self._reading[name]:
                    del self._reading[name]

    # --- what follows from them

    def topic_names(self, member: Subscription) -> frozenset[str]:
        """The topics a member reads, by name and by regular expression."""
        names = frozenset(member.topic_names)
        pattern = self.patterns.get(member.topic_regex or "")
        return names if pattern is None else names | pattern.topics

    def all_topic_names(self) -> set[str]:
        names = set(self._reading)
        return names.union(*(pattern.topics for pattern in self.patterns.values()))

    def assignor_name(self, default: str) -> str:
        """The one that most members ask for."""
        votes = Counter(member.assignor for member in self.members.values() if member.assignor is not None)
        return votes.most_common(1)[0][0] if votes else default

    def find_member(self, member_id: str, instance_id: str | None = None) -> Subscription:
        if instance_id is not None:
            holder = self.static_ids.get(instance_id)
            if holder is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
            if holder != member_id:
                fenced = f"Static member {member_id} with instance id {instance_id} was fenced by {holder}."
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, fenced)
        return super().find_member(member_id)

    # --- what requests about offsets ask

    def accept_commit(self, _step: Step, request: CommitRequest) -> None:
        generation, member_id = request.generation_id_or_member_epoch, request.member_id
        if generation < 0 and not self.members:
            return  # an admin, or a consumer that assigns partitions to itself
        member = self.find_member(member_id)
        if member.classic is None and request.api_version < COMMITS_WITH_EPOCH_FROM:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Commits with member epochs need version 9.")
        if generation != self.holding(member_id).epoch:
            raise self.stale_epoch(member)

    def stale_epoch(self, member: Subscription) -> KafkaError:
        is_classic = member.classic is not None
        return KafkaError(ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH)

    def is_subscribed(self, topic: str) -> bool:
        return topic in self._reading or any(topic in pattern.topics for pattern in self.patterns.values())

    def tombstones(self) -> list[StateRecord]:
        own = [Key.TOPICS, Key.GROUP] if self.has_topics_record else [Key.GROUP]
        return [
            *self.member_tombstones(),
            *self.tombstones_of(Key.PATTERN, self.patterns),
            *(StateRecord(encode_key(key, self.id), None) for key in own),
        ]

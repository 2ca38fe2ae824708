"""A group of the new kind: exactly what its records say, and what follows from that.

Everything about such a group is durable but the timers, so this object is both the state that replay changes
and what requests look at. Decisions never change it: they work on a `Draft`.
"""

from collections import Counter
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs, Uuid
from tidelog.groups.consumer_protocol import PROTOCOL_TYPE
from tidelog.groups.group import GroupKind
from tidelog.groups.modern.states import GroupState
from tidelog.groups.outcome import OffsetsRecord
from tidelog.groups.record_formats.assignment import NOTHING, Assignment
from tidelog.groups.record_formats.consumer_group import (
    GroupEpoch,
    Holding,
    Key,
    MemberState,
    ResolvedPattern,
    Subscription,
    encode_key,
)
from tidelog.groups.record_formats.offset_commit import CommittedOffset
from tidelog.groups.step import Step

NEW_MEMBER = Holding()
NOBODY = Subscription()
COMMITS_WITH_EPOCH_FROM = 9


class ConsumerGroup:
    kind = GroupKind.CONSUMER
    protocol_type = PROTOCOL_TYPE

    def __init__(self, group_id: str) -> None:
        self.id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.members: dict[str, Subscription] = {}
        self.targets: dict[str, Assignment] = {}
        self.holdings: dict[str, Holding] = {}
        self.patterns: dict[str, ResolvedPattern] = {}
        self.has_topics_record = False
        """A record of the topics as Kafka wrote it before 4.1; deleted with the group."""
        self.static_ids: dict[str, str] = {}
        """Instance id to the member id that holds it now."""
        self.owners: dict[tuple[Uuid, int], str] = {}
        """Partition to the member that may be using it: assigned to it, or not yet let go."""
        self.classic_members = 0
        self._reading: Counter[str] = Counter()  # topic name to how many members name it

    def copy(self) -> "ConsumerGroup":
        """Its own for writing; what it holds is immutable and shared."""
        twin = ConsumerGroup(self.id)
        twin.epoch, twin.metadata_hash, twin.target_epoch = self.epoch, self.metadata_hash, self.target_epoch
        twin.members, twin.targets = dict(self.members), dict(self.targets)
        twin.holdings, twin.patterns = dict(self.holdings), dict(self.patterns)
        twin.has_topics_record = self.has_topics_record
        twin.static_ids, twin.owners = dict(self.static_ids), dict(self.owners)
        twin.classic_members, twin._reading = self.classic_members, Counter(self._reading)
        return twin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConsumerGroup) and all(
            getattr(self, field) == getattr(other, field)
            for field in (
                *("id", "epoch", "metadata_hash", "target_epoch", "members", "targets", "holdings"),
                *("patterns", "has_topics_record", "static_ids", "owners", "classic_members"),
            )
        )

    __hash__ = None  # type: ignore[assignment]

    # --- the changes that records make

    def put_epoch(self, value: GroupEpoch) -> None:
        self.epoch, self.metadata_hash = value

    def put_member(self, member_id: str, member: Subscription) -> None:
        self._uncount(member_id)
        self.members[member_id] = member
        self._reading.update(member.topic_names)
        self.classic_members += member.classic is not None
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member_id

    def remove_member(self, member_id: str) -> None:
        self._uncount(member_id)
        member = self.members.pop(member_id, NOBODY)
        # A static member that was replaced holds its instance id no more.
        if member.instance_id is not None and self.static_ids.get(member.instance_id) == member_id:
            del self.static_ids[member.instance_id]

    def put_holding(self, member_id: str, holding: Holding) -> None:
        self.remove_holding(member_id)
        self.holdings[member_id] = holding
        for part in (holding.assigned, holding.revoking):
            for topic, partitions in part.items():
                for partition in partitions:
                    self.owners[topic, partition] = member_id

    def remove_holding(self, member_id: str) -> None:
        holding = self.holdings.pop(member_id, NEW_MEMBER)
        for part in (holding.assigned, holding.revoking):
            for topic, partitions in part.items():
                for partition in partitions:
                    # A log that is being compacted may show the next owner before the last one let go.
                    if self.owners.get((topic, partition)) == member_id:
                        del self.owners[topic, partition]

    def _uncount(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None:
            self.classic_members -= member.classic is not None
            self._reading.subtract(member.topic_names)
            for name in member.topic_names:
                if not self._reading[name]:
                    del self._reading[name]

    # --- what follows from them

    def holding(self, member_id: str) -> Holding:
        return self.holdings.get(member_id, NEW_MEMBER)

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NOTHING)

    def topic_names(self, member: Subscription) -> frozenset[str]:
        """The topics a member reads, by name and by regular expression."""
        names = frozenset(member.topic_names)
        pattern = self.patterns.get(member.topic_regex or "")
        return names if pattern is None else names | pattern.topics

    def all_topic_names(self) -> set[str]:
        names = set(self._reading)
        return names.union(*(pattern.topics for pattern in self.patterns.values()))

    def is_settled(self, member_id: str) -> bool:
        holding = self.holding(member_id)
        return holding.state is MemberState.STABLE and holding.epoch == self.target_epoch

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        return GroupState.STABLE if all(map(self.is_settled, self.members)) else GroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_idle(self) -> bool:
        return not self.members

    def assignor_name(self, default: str) -> str:
        """The one that most members ask for."""
        votes = Counter(member.assignor for member in self.members.values() if member.assignor is not None)
        return votes.most_common(1)[0][0] if votes else default

    def find_member(self, member_id: str, instance_id: str | None) -> Subscription:
        """The member that a request comes from, or the KafkaError it gets."""
        if instance_id is not None:
            holder = self.static_ids.get(instance_id)
            if holder is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
            if holder != member_id:
                fenced = f"Static member {member_id} with instance id {instance_id} was fenced by {holder}."
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, fenced)
        member = self.members.get(member_id)
        if member is None:
            unknown = f"Member {member_id} is not a member of group {self.id}."
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, unknown)
        return member

    # --- what requests about offsets ask

    def accept_commit(
        self, _step: Step, member_id: str, _instance_id: str | None, generation: int, api_version: int
    ) -> None:
        if generation < 0 and not self.members:
            return  # an admin, or a consumer that assigns partitions to itself
        member = self.find_member(member_id, None)
        if member.classic is None and api_version < COMMITS_WITH_EPOCH_FROM:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Commits with member epochs need version 9.")
        self._check_epoch(member_id, member, generation)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return  # an admin, or a client of a version that has no such fields
        member = self.find_member(member_id or "", None)
        self._check_epoch(member_id or "", member, member_epoch)

    def _check_epoch(self, member_id: str, member: Subscription, epoch: int) -> None:
        if epoch != self.holding(member_id).epoch:
            is_classic = member.classic is not None
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH)

    def check_offset_delete(self) -> None:
        pass  # topics that a member reads are refused one by one

    def check_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        return topic in self._reading or any(topic in pattern.topics for pattern in self.patterns.values())

    @property
    def expires_offsets(self) -> bool:
        return True

    def unused_since(self, committed: CommittedOffset) -> TimestampMs:
        return committed.commit_timestamp

    def tombstones(self) -> list[OffsetsRecord]:
        """Members first: a group without its own record must not have any."""
        keys = [*self._keys(Key.HOLDING, self.holdings), *self._keys(Key.TARGET_OF_MEMBER, self.targets)]
        keys.append(encode_key(Key.TARGET, self.id))
        keys += self._keys(Key.MEMBER, self.members)
        keys += self._keys(Key.PATTERN, self.patterns)
        if self.has_topics_record:
            keys.append(encode_key(Key.TOPICS, self.id))
        keys.append(encode_key(Key.GROUP, self.id))
        return [OffsetsRecord(key, None) for key in keys]

    def _keys(self, key: Key, names: Iterable[str]) -> list[bytes]:
        return [encode_key(key, self.id, name) for name in names]

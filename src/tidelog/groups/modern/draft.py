"""A group as it will be once the records of a step are written. Decisions change drafts, never the group.

Each change becomes a record and is made to a copy at once, so that what comes later in the step sees it.
A heartbeat that changes nothing copies nothing.
"""

from tidelog.groups.modern.group import ConsumerGroup
from tidelog.groups.outcome import OffsetsRecord
from tidelog.groups.record_formats import consumer_group as formats
from tidelog.groups.record_formats.assignment import Assignment
from tidelog.groups.record_formats.consumer_group import (
    GroupEpoch,
    Holding,
    Key,
    ResolvedPattern,
    Subscription,
)
from tidelog.groups.step import Step


class Draft:
    __slots__ = ("_is_copy", "group", "step")

    def __init__(self, step: Step, group: ConsumerGroup) -> None:
        self.step = step
        self.group = group
        self._is_copy = False

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        value = GroupEpoch(epoch, metadata_hash)
        self._write(Key.GROUP, None, formats.encode_group(value)).put_epoch(value)

    def put_member(self, member_id: str, member: Subscription) -> None:
        self._write(Key.MEMBER, member_id, formats.encode_member(member)).put_member(member_id, member)

    def put_target_epoch(self, epoch: int) -> None:
        self._write(Key.TARGET, None, formats.encode_target_epoch(epoch)).target_epoch = epoch

    def put_target(self, member_id: str, target: Assignment) -> None:
        value = formats.encode_target(target)
        self._write(Key.TARGET_OF_MEMBER, member_id, value).targets[member_id] = target

    def put_holding(self, member_id: str, holding: Holding) -> None:
        self._write(Key.HOLDING, member_id, formats.encode_holding(holding)).put_holding(member_id, holding)

    def put_pattern(self, regex: str, pattern: ResolvedPattern) -> None:
        self._write(Key.PATTERN, regex, formats.encode_pattern(pattern)).patterns[regex] = pattern

    def remove_member(self, member_id: str) -> None:
        """All that is stored of a member, what it holds first: that frees its partitions."""
        if member_id in self.group.holdings:
            self._write(Key.HOLDING, member_id, None).remove_holding(member_id)
        if member_id in self.group.targets:
            del self._write(Key.TARGET_OF_MEMBER, member_id, None).targets[member_id]
        self._write(Key.MEMBER, member_id, None).remove_member(member_id)

    def remove_unused_patterns(self) -> None:
        used = {member.topic_regex for member in self.group.members.values()}
        for regex in [regex for regex in self.group.patterns if regex not in used]:
            del self._write(Key.PATTERN, regex, None).patterns[regex]

    def remove_topics_record(self) -> None:
        if self.group.has_topics_record:
            self._write(Key.TOPICS, None, None).has_topics_record = False

    def _write(self, key: Key, name: str | None, value: bytes | None) -> ConsumerGroup:
        if not self._is_copy:
            self.group, self._is_copy = self.group.copy(), True
        self.step.append(OffsetsRecord(formats.encode_key(key, self.group.id, name), value))
        return self.group

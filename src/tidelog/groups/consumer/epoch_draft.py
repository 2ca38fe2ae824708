"""A group as it will be once the records of a step are written. Decisions change drafts, never the group.

Each change becomes a record and is made to a copy at once, so that what comes later in the step sees it.
A heartbeat that changes nothing copies nothing.
"""

from typing import Any, Generic, TypeVar

from tidelog.coordination.decision import StateRecord
from tidelog.groups.consumer.epoch_group import EpochGroup, MemberT
from tidelog.groups.record_formats.assignment import Parts, PartT
from tidelog.groups.record_formats.group_key import encode_key
from tidelog.groups.record_formats.holding import Holding
from tidelog.groups.step import Step

GroupT = TypeVar("GroupT", bound=EpochGroup[Any, Any])


class EpochDraft(Generic[GroupT, MemberT, PartT]):
    __slots__ = ("_is_copy", "group", "step")

    def __init__(self, step: Step, group: GroupT) -> None:
        self.step = step
        self.group = group
        self._is_copy = False

    def put_member(self, member_id: str, member: MemberT) -> None:
        records = self.group.records
        self.write(records.member, member_id, records.encode_member(member)).put_member(member_id, member)

    def put_target(self, member_id: str, target: Parts[PartT]) -> None:
        records = self.group.records
        value = records.encode_target(target)
        self.write(records.target_of_member, member_id, value).targets[member_id] = target

    def put_holding(self, member_id: str, holding: Holding[PartT]) -> None:
        records = self.group.records
        value = records.encode_holding(holding)
        self.write(records.holding, member_id, value).put_holding(member_id, holding)

    def remove_member(self, member_id: str) -> None:
        """All that is stored of a member, what it holds first: that frees its partitions."""
        records = self.group.records
        if member_id in self.group.holdings:
            self.write(records.holding, member_id, None).remove_holding(member_id)
        if member_id in self.group.targets:
            del self.write(records.target_of_member, member_id, None).targets[member_id]
        self.write(records.member, member_id, None).remove_member(member_id)

    def write(self, key: int, name: str | None, value: bytes | None) -> GroupT:
        """Have a record written; the group to make the same change to."""
        if not self._is_copy:
            self.group, self._is_copy = self.group.copy(), True
        self.step.append(StateRecord(encode_key(key, self.group.id, name), value))
        return self.group

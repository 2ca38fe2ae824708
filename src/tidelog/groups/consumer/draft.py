"""A draft of a group of consumers: what only such a group has; the rest is in `epoch_draft`."""

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.epoch_draft import EpochDraft
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.record_formats import consumer_group as formats
from tidelog.groups.record_formats.consumer_group import (
    ConsumerTarget,
    GroupEpoch,
    Key,
    ResolvedPattern,
    Subscription,
)


class Draft(EpochDraft[ConsumerGroup, Subscription, Uuid]):
    __slots__ = ()

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        value = GroupEpoch(epoch, metadata_hash)
        self.step.context.counters.rebalances += 1
        self.write(Key.GROUP, None, formats.encode_group(value)).put_epoch(value)

    def put_target_epoch(self, value: ConsumerTarget) -> None:
        self.write(Key.TARGET, None, formats.encode_target_epoch(value)).put_target_epoch(value)

    def put_pattern(self, regex: str, pattern: ResolvedPattern) -> None:
        self.write(Key.PATTERN, regex, formats.encode_pattern(pattern)).patterns[regex] = pattern

    def remove_unused_patterns(self) -> None:
        used = {member.topic_regex for member in self.group.members.values()}
        for regex in [regex for regex in self.group.patterns if regex not in used]:
            del self.write(Key.PATTERN, regex, None).patterns[regex]

    def remove_topics_record(self) -> None:
        if self.group.has_topics_record:
            self.write(Key.TOPICS, None, None).has_topics_record = False

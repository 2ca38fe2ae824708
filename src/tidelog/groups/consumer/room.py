"""What the decisions about consumer groups share: groups, topics and the timers of members."""

from typing import TypeAlias

from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.member_timers import MemberTimers, OnTimeout, Wait
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.consumer_group import Subscription
from tidelog.groups.record_formats.holding import MemberState
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.step import Step
from tidelog.groups.streams.group import StreamsGroup

AnyGroup: TypeAlias = ClassicGroup | ConsumerGroup | StreamsGroup | ShareGroup


class ConsumerRoom:
    def __init__(self, groups: dict[str, AnyGroup], on_timeout: OnTimeout) -> None:
        self.groups = groups
        """All groups of the shard, of every kind."""
        self.topics: Topics | None = None
        """None until the first `on_topics_changed`, so that no member loses partitions for want of topics."""
        self.stale: set[str] = set()
        """Groups whose topics may have changed since their epoch began; their next heartbeat looks."""
        self.timers = MemberTimers(on_timeout)

    def consumer_groups(self) -> list[ConsumerGroup]:
        return [group for group in self.groups.values() if isinstance(group, ConsumerGroup)]

    def on_topics_changed(self, topics: Topics) -> None:
        if topics is self.topics:
            return
        before = self.topics or Topics()
        self.topics = topics
        changed = before.changed_names(topics)
        came_or_went = before.by_name.keys() ^ topics.by_name.keys()
        for group in self.groups.values():
            if not isinstance(group, ConsumerGroup | ShareGroup):
                continue
            may_match = isinstance(group, ConsumerGroup) and group.patterns and came_or_went
            if may_match or not group.all_topic_names().isdisjoint(changed):
                self.stale.add(group.id)

    def on_permissions_changed(self) -> None:
        """Regular expressions may select other topics now."""
        self.stale.update(group.id for group in self.consumer_groups() if group.patterns)

    def take_stale(self, step: Step, group_id: str) -> bool:
        if group_id not in self.stale:
            return False
        self.stale.remove(group_id)
        step.if_failed(lambda *_: self.stale.add(group_id))
        return True

    def on_loaded(self, step: Step) -> None:
        """Nothing is known about when members were last heard, nor what happened to topics meanwhile."""
        for group in self.consumer_groups():
            self.stale.add(group.id)
            for member_id, member in group.members.items():
                self.start_session(step, group.id, member_id, member)
                unrevoked = group.holding(member_id).state is MemberState.UNREVOKED_PARTITIONS
                if unrevoked and member.classic is None:
                    self.start_timer(step, Wait.REVOCATION, group.id, member_id, member)

    def overdue(
        self, group_id: str, member_id: str, wait: Wait
    ) -> ConsumerGroup | StreamsGroup | ShareGroup | None:
        """The group to remove a member from whose time is up; None where it did what it had to."""
        group = self.groups.get(group_id)
        if group is None or isinstance(group, ClassicGroup) or member_id not in group.members:
            self.timers.drop(group_id, member_id)
            return None
        revoking = group.holding(member_id).state is MemberState.UNREVOKED_PARTITIONS
        return None if wait is Wait.REVOCATION and not revoking else group

    def start_session(self, step: Step, group_id: str, member_id: str, member: Subscription) -> None:
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms  # there the client says
        else:
            timeout_ms = step.context.settings.of_group(group_id).int("consumer.session.timeout.ms")
        self.timers.start(step, Wait.SESSION, group_id, member_id, timeout_ms)

    def start_timer(
        self, step: Step, wait: Wait, group_id: str, member_id: str, member: Subscription
    ) -> None:
        self.timers.start(step, wait, group_id, member_id, member.rebalance_timeout_ms)

    def forget(self, group_id: str) -> None:
        self.stale.discard(group_id)

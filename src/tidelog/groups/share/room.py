"""What the decisions about share groups share beside the room of all groups with epochs.

What is here is lost with the coordinator, and that does no harm: the next one asks the persister again for
the state that is still `initializing`.
"""

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.step import Step


class ShareRoom:
    def __init__(self, shared: ConsumerRoom) -> None:
        self.shared = shared
        self._begun: dict[str, dict[Uuid, float]] = {}
        """When the persister was last asked to make state, by group and topic."""

    def share_groups(self) -> list[ShareGroup]:
        return [group for group in self.shared.groups.values() if isinstance(group, ShareGroup)]

    def on_loaded(self, step: Step) -> None:
        """Nothing is known about when members were last heard, nor what happened to topics meanwhile."""
        for group in self.share_groups():
            self.shared.stale.add(group.id)
            for member_id in group.members:
                self.start_session(step, group.id, member_id)

    def start_session(self, step: Step, group_id: str, member_id: str) -> None:
        timeout_ms = step.context.settings.of_group(group_id).int("share.session.timeout.ms")
        self.shared.timers.start(step, Wait.SESSION, group_id, member_id, timeout_ms)

    def begin_states(self, step: Step, group_id: str, topics: set[Uuid]) -> None:
        self._begun.setdefault(group_id, {}).update(dict.fromkeys(topics, step.now))

    def is_under_way(self, step: Step, group_id: str, topic: Uuid) -> bool:
        """Whether the persister was asked a short while ago, and may still answer."""
        begun = self._begun.get(group_id, {}).get(topic)
        interval_ms = step.context.settings.share_initialize_retry_interval_ms
        return begun is not None and step.now < begun + interval_ms / 1000

    def end_states(self, group_id: str, topics: set[Uuid]) -> None:
        """The persister answered."""
        left = self._begun.get(group_id, {})
        for topic in topics:
            left.pop(topic, None)
        if not left:
            self._begun.pop(group_id, None)

    def forget(self, group_id: str) -> None:
        self._begun.pop(group_id, None)

    def drop_all(self) -> None:
        self._begun.clear()

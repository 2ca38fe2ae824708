"""What the decisions about streams groups share beside the room of all groups with epochs.

What is here is lost with the coordinator, and that does no harm: a delayed first assignment is made at once,
members learn of endpoints anew, and a client that asked all others to stop asks again.
"""

from dataclasses import dataclass

from tidelog.base.timers import Timer
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.holding import MemberState
from tidelog.groups.record_formats.streams_group import Topology
from tidelog.groups.step import Step
from tidelog.groups.streams.configured import Configured, configure
from tidelog.groups.streams.group import StreamsGroup


@dataclass(slots=True)
class Passing:
    """What is known of a group only while this coordinator looks after it."""

    endpoint_epoch: int = 0
    """Rises when members move between endpoints."""
    shutdown_by: str | None = None
    """The member that wants the whole application to stop."""
    first_assignment: Timer[Step] | None = None
    """Runs while a new group waits for more members."""
    seen: tuple[Topology, Topics, Configured] | None = None

    @property
    def is_delayed(self) -> bool:
        return self.first_assignment is not None and self.first_assignment.deadline is not None

    def configured(self, topology: Topology, topics: Topics) -> Configured:
        """Looked at anew only when the topology or any topic changed."""
        if self.seen is None or self.seen[0] is not topology or self.seen[1] is not topics:
            self.seen = topology, topics, configure(topology, topics)
        return self.seen[2]


class StreamsRoom:
    def __init__(self, shared: ConsumerRoom) -> None:
        self.shared = shared
        self._passing: dict[str, Passing] = {}

    def passing(self, group_id: str) -> Passing:
        return self._passing.setdefault(group_id, Passing())

    def on_loaded(self, step: Step) -> None:
        """Nothing is known about when members were last heard."""
        for group in self.shared.groups.values():
            if isinstance(group, StreamsGroup):
                for member_id in group.members:
                    self.start_session(step, group.id, member_id)
                    if group.holding(member_id).state is MemberState.UNREVOKED_PARTITIONS:
                        self.start_revocation(step, group, member_id)

    def start_session(self, step: Step, group_id: str, member_id: str) -> None:
        timeout_ms = step.context.settings.of_group(group_id).int("streams.session.timeout.ms")
        self.shared.timers.start(step, Wait.SESSION, group_id, member_id, timeout_ms)

    def start_revocation(self, step: Step, group: StreamsGroup, member_id: str) -> None:
        timeout_ms = group.members[member_id].rebalance_timeout_ms
        self.shared.timers.start(step, Wait.REVOCATION, group.id, member_id, timeout_ms)

    def on_empty(self, group_id: str) -> None:
        """The last member left: there is none to stop, nor to wait for."""
        passing = self._passing.get(group_id)
        if passing is not None:
            passing.shutdown_by = None
            if passing.first_assignment is not None:
                passing.first_assignment.cancel()

    def tidy(self, group_id: str) -> None:
        """Nothing came of a request: keep nothing about a group that is not there."""
        if group_id not in self.shared.groups:
            self.forget(group_id)

    def forget(self, group_id: str) -> None:
        self.on_empty(group_id)
        self._passing.pop(group_id, None)

    def drop_all(self) -> None:
        for group_id in list(self._passing):
            self.forget(group_id)

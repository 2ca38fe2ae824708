"""A new epoch where members, topology, topics or settings changed, and a target assignment for it."""

from tidelog.groups.record_formats.streams_group import StreamsEpoch, TargetEpoch
from tidelog.groups.step import Step
from tidelog.groups.streams.configured import Configured
from tidelog.groups.streams.draft import Draft
from tidelog.groups.streams.group import NO_TOPOLOGY, StreamsGroup
from tidelog.groups.streams.messages import Status, StatusCode
from tidelog.groups.streams.room import StreamsRoom
from tidelog.groups.streams.sticky import Worker, Workload, assign

STANDBY_REPLICAS = "num.standby.replicas"


def begin_epoch_if_needed(draft: Draft, configured: Configured, *, changed: bool) -> None:
    group = draft.group
    validated = NO_TOPOLOGY
    if configured.is_ready and group.topology is not None:
        validated = group.topology.epoch
    wanted = StreamsEpoch(
        group.epoch, configured.metadata_hash, validated, assignment_configs(draft.step, group.id)
    )
    known = StreamsEpoch(
        group.epoch, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
    )
    if changed or wanted != known:
        draft.put_epoch(wanted._replace(epoch=group.epoch + 1))


def begin_epoch(draft: Draft) -> None:
    """A member is gone, and nothing else is known to have changed."""
    group = draft.group
    draft.put_epoch(
        StreamsEpoch(
            group.epoch + 1, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
        )
    )


def assignment_configs(step: Step, group_id: str) -> tuple[tuple[str, str], ...]:
    replicas = step.context.settings.of_group(group_id).int("streams.num.standby.replicas")
    return ((STANDBY_REPLICAS, str(replicas)),)


def delay_first(step: Step, room: StreamsRoom, group: StreamsGroup) -> None:
    """The first member of a group came: others may be about to, and would only move its tasks."""
    delay_ms = step.context.settings.of_group(group.id).int("streams.initial.rebalance.delay.ms")
    passing = room.passing(group.id)
    if not group.is_empty or not delay_ms or passing.is_delayed:
        return
    if passing.first_assignment is None:
        passing.first_assignment = step.context.timers.timer(lambda step: _assign_late(step, room, group.id))
    passing.first_assignment.start(step.after_ms(delay_ms))


def assign_if_due(draft: Draft, room: StreamsRoom, configured: Configured) -> Status | None:
    """Give the newest epoch its target; a status where that has to wait."""
    group, step = draft.group, draft.step
    if room.passing(group.id).is_delayed:
        why = "Assignment delayed due to the configured initial rebalance delay."
        return Status(StatusCode.ASSIGNMENT_DELAYED, why)
    if group.epoch <= group.target_epoch:
        return None
    interval_ms = step.context.settings.of_group(group.id).int("streams.assignment.interval.ms")
    if group.wait_ms(step.now_ms, interval_ms):
        why = "Assignment delayed due to the configured assignment interval."
        return Status(StatusCode.ASSIGNMENT_DELAYED, why)
    _assign(draft, configured)
    return None


def _assign_late(step: Step, room: StreamsRoom, group_id: str) -> None:
    group, topics = room.shared.groups.get(group_id), room.shared.topics
    if not isinstance(group, StreamsGroup) or group.topology is None or topics is None:
        return
    if group.members and group.epoch > group.target_epoch:
        _assign(Draft(step, group), room.passing(group_id).configured(group.topology, topics))


def _assign(draft: Draft, configured: Configured) -> None:
    group = draft.group
    workers = {
        member_id: Worker(member.process_id, group.target(member_id))
        for member_id, member in group.members.items()
    }
    workloads = {}
    if configured.is_ready and configured.parts is not None:
        workloads = {name: Workload(part.tasks, part.is_stateful) for name, part in configured.parts.items()}
    replicas = int(dict(group.assignment_configs).get(STANDBY_REPLICAS, "0"))
    for member_id, target in assign(workloads, workers, replicas).items():
        if group.targets.get(member_id) != target:
            draft.put_target(member_id, target)
    draft.put_target_epoch(TargetEpoch(group.epoch, draft.step.now_ms))
    tasks = sum(load.tasks for load in workloads.values())
    draft.step.note(
        f"streams group {group.id} assigned {tasks} tasks to {len(workers)} members for epoch {group.epoch}"
    )

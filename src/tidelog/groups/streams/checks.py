"""What makes a StreamsGroupHeartbeat invalid before anybody looks at the group."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.groups.consumer.messages import JOINING, LEAVING_FOR_A_WHILE
from tidelog.groups.record_formats.tasks import Role, Tasks
from tidelog.groups.streams.configured import Configured
from tidelog.groups.streams.messages import HeartbeatRequest
from tidelog.groups.streams.partition_counts import check_resolvable
from tidelog.groups.streams.topology import check_topology


def check(request: HeartbeatRequest) -> None:
    """KafkaError for a request that no group could accept."""
    if request.instance_id is not None:
        raise _invalid("Static membership is not yet supported.")
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if value == "":
            raise _invalid(f"{name} can't be empty.")
        if value is not None and len(value) > NAME_CHARS_MAX:
            raise _invalid(f"{name} is longer than {NAME_CHARS_MAX} characters.")
    if request.member_epoch < LEAVING_FOR_A_WHILE:
        why = f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
        raise _invalid(why)
    if request.member_epoch == LEAVING_FOR_A_WHILE:
        raise _invalid("InstanceId can't be null.")
    if request.tasks is not None and any(duty.role is Role.WARMUP for duty in request.tasks):
        raise _invalid("WarmupTasks are not supported yet.")
    if request.member_epoch == JOINING:
        _check_join(request)
    elif request.topology is not None:
        raise _invalid("Topology can only be provided when (re-)joining.")


def _check_join(request: HeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.tasks:
        raise _invalid("ActiveTasks, StandbyTasks and WarmupTasks must be empty when (re-)joining.")
    if request.topology is None:
        raise _invalid("Topology must be non-null when (re-)joining.")
    if any(part.source_topic_regex for part in request.topology.subtopologies):
        raise _invalid("Regular expressions for source topics are not supported yet.")
    check_topology(request.topology)
    check_resolvable(request.topology)


def check_tasks(configured: Configured, tasks: Tasks | None) -> None:
    """A member can only have tasks that there are."""
    if not configured.is_ready or configured.parts is None or tasks is None:
        return
    for duty, partitions in tasks.items():
        part = configured.parts.get(duty.subtopology_id)
        if part is None:
            raise _invalid(f"Subtopology {duty.subtopology_id} does not exist in the topology.")
        for number in partitions:
            if not 0 <= number < part.tasks:
                why = f"Task {number} for subtopology {duty.subtopology_id} is invalid."
                raise _invalid(f"{why} Number of tasks for this subtopology: {part.tasks}")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)

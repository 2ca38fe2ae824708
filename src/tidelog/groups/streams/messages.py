"""StreamsGroupHeartbeat and StreamsGroupDescribe, close to the wire but of no version.

Names are the protocol's.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.groups.record_formats.streams_group import StreamsMember, Topology
from tidelog.groups.record_formats.tasks import Tasks


class StatusCode(IntEnum):
    """What keeps a group from being as it should, as members are told with every heartbeat."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(NamedTuple):
    code: StatusCode
    detail: str


class InternalTopic(NamedTuple):
    """A topic between or behind the parts of a topology, as it has to be created."""

    name: str
    partitions: int
    replication_factor: int = -1
    configs: tuple[tuple[str, str], ...] = ()


class HeartbeatRequest(NamedTuple):
    """None, or -1 for the timeout: as in the request before."""

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int = -1
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    tasks: Tasks | None = None
    """What the member has now."""
    process_id: str | None = None
    endpoint: tuple[str, int] | None = None
    client_tags: tuple[tuple[str, str], ...] | None = None
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""


class Endpoint(NamedTuple):
    """Where the state of some partitions can be asked for."""

    host: str
    port: int
    active: Mapping[str, Sequence[int]]
    """Topic to partitions."""
    standby: Mapping[str, Sequence[int]]


class HeartbeatAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    statuses: Sequence[Status] = ()
    tasks: Tasks | None = None
    """None: nothing changed since the last answer."""
    endpoint_information_epoch: int = 0
    endpoints: Sequence[Endpoint] | None = None
    """None: the member knows them."""
    missing_topics: Sequence[InternalTopic] = ()
    """For the broker, not for the member: internal topics that have to be created."""


class DescribedMember(NamedTuple):
    member_id: str
    member: StreamsMember
    member_epoch: int
    assignment: Tasks
    target_assignment: Tasks


class DescribedSubtopology(NamedTuple):
    subtopology_id: str
    source_topics: Sequence[str]
    repartition_sink_topics: Sequence[str]
    repartition_source_topics: Sequence[InternalTopic]
    state_changelog_topics: Sequence[InternalTopic]


class DescribedStreamsGroup(NamedTuple):
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology_epoch: int = 0
    subtopologies: Sequence[DescribedSubtopology] = ()
    members: Sequence[DescribedMember] = ()

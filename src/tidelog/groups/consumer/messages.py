"""ConsumerGroupHeartbeat and ConsumerGroupDescribe, close to the wire but of no version.

Names are the protocol's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Uuid
from tidelog.groups.consumer.topics import MaySee
from tidelog.groups.record_formats.assignment import NOTHING, Assignment

JOINING = 0
LEAVING = -1
LEAVING_FOR_A_WHILE = -2
"""A static member goes, and means to come back before its session ends."""


class HeartbeatRequest(NamedTuple):
    """None, or -1 for the timeout: as in the request before."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: Sequence[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: Sequence[tuple[Uuid, Sequence[int]]] | None = None
    """What the member owns now."""
    client_id: str = ""
    client_host: str = ""
    """As Kafka prints addresses: `/10.0.0.1`."""
    api_version: int = 1
    may_see: MaySee | None = None
    """Regular expressions select from the topics that the member may see; None: from all."""


class HeartbeatAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Mapping[Uuid, frozenset[int]] | None = None
    """None: nothing changed since the last answer."""


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: Sequence[str] = ()
    subscribed_topic_regex: str | None = None
    assignment: Assignment = NOTHING
    target_assignment: Assignment = NOTHING
    member_type: int = 1
    """0 speaks the classic protocol, 1 the new one."""


class DescribedConsumerGroup(NamedTuple):
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: Sequence[DescribedMember] = ()
    topic_names: Mapping[Uuid, str] = {}
    """Names for the ids in the assignments of the members; a topic that is gone has none."""

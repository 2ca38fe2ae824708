"""The requests about share groups, close to the wire but of no version.

Names are the protocol's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Offset, Uuid
from tidelog.groups.record_formats.assignment import NOTHING, Assignment
from tidelog.groups.record_formats.share_group import ShareSubscription

ASSIGNOR = "simple"


class HeartbeatRequest(NamedTuple):
    """None: as in the request before."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: Sequence[str] | None = None
    client_id: str = ""
    client_host: str = ""
    """As Kafka prints addresses: `/10.0.0.1`."""


class StatesToMake(NamedTuple):
    """Partitions whose share state has to be initialized, with the offset to start at, or -1."""

    group_id: str
    state_epoch: int
    offsets: Mapping[Uuid, Mapping[int, Offset]]

    @property
    def partitions(self) -> dict[Uuid, frozenset[int]]:
        return {topic: frozenset(of_topic) for topic, of_topic in self.offsets.items()}


class StatesToDelete(NamedTuple):
    """Partitions whose share state has to go."""

    group_id: str
    partitions: Mapping[Uuid, frozenset[int]]


class HeartbeatAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    """None: nothing changed since the last answer."""
    to_make: StatesToMake | None = None
    """For the broker, not for the member."""


class DescribedMember(NamedTuple):
    member_id: str
    member: ShareSubscription
    member_epoch: int = 0
    assignment: Assignment = NOTHING


class DescribedShareGroup(NamedTuple):
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    members: Sequence[DescribedMember] = ()
    topic_names: Mapping[Uuid, str] = {}
    """Names for the ids in the assignments of the members; a topic that is gone has none."""

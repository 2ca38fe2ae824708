"""Requests to classic groups and their answers, close to the wire but of no version.

Names are the protocol's. An empty member id means: not known yet.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode

NO_MEMBER = ""
NO_GENERATION = -1


class JoinRequest(NamedTuple):
    group_id: str
    protocol_type: str
    protocols: Sequence[tuple[str, bytes]]
    """Name and metadata, the member's favourite first."""
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    """-1, as version 0 has none: the session timeout."""
    member_id: str = NO_MEMBER
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    """As Kafka prints addresses: `/10.0.0.1`."""
    reason: str | None = None
    api_version: int = 9
    may_see: Callable[[str], bool] | None = None
    """In a group with members of the new protocol: the topics that regular expressions select from."""


class JoinedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    member_id: str = NO_MEMBER
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_MEMBER
    members: Sequence[JoinedMember] = ()
    """All of them for the leader, none for the others."""
    skip_assignment: bool = False


class SyncRequest(NamedTuple):
    group_id: str
    member_id: str
    generation_id: int
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Sequence[tuple[str, bytes]] = ()
    """Member id and assignment; from the leader only."""


class SyncAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    member_id: str = NO_MEMBER
    group_instance_id: str | None = None
    reason: str | None = None


class LeftMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    error: ErrorCode = ErrorCode.NONE


class LeaveAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    members: Sequence[LeftMember] = ()


class DescribedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


class DescribedGroup(NamedTuple):
    group_id: str
    error: ErrorCode = ErrorCode.NONE
    """GROUP_ID_NOT_FOUND goes on the wire from version 6 on; older ones only see the state Dead."""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: Sequence[DescribedMember] = ()

"""Requests about committed offsets and whole groups, and their answers; names are the protocol's."""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, NO_OFFSET


class CommitPartition(NamedTuple):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = NO_EPOCH
    committed_metadata: str | None = None


class CommitTopic(NamedTuple):
    name: str
    partitions: Sequence[CommitPartition]


class CommitRequest(NamedTuple):
    group_id: str
    topics: Sequence[CommitTopic]
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    """Versions 2 to 4: how long to keep these offsets. -1: as the broker is set."""
    api_version: int = 10


class PartitionResult(NamedTuple):
    partition_index: int
    error: ErrorCode = ErrorCode.NONE


class TopicResult(NamedTuple):
    name: str
    partitions: Sequence[PartitionResult]


class FetchTopic(NamedTuple):
    name: str
    partition_indexes: Sequence[int]


class FetchGroup(NamedTuple):
    group_id: str
    topics: Sequence[FetchTopic] | None = None
    """None: every offset that the group has committed."""
    member_id: str | None = None
    member_epoch: int = -1


class FetchedOffset(NamedTuple):
    partition_index: int
    committed_offset: int = NO_OFFSET
    committed_leader_epoch: int = NO_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class FetchedTopic(NamedTuple):
    name: str
    partitions: Sequence[FetchedOffset]


class FetchedGroup(NamedTuple):
    group_id: str
    topics: Sequence[FetchedTopic] = ()
    error: ErrorCode = ErrorCode.NONE


class DeleteTopic(NamedTuple):
    name: str
    partition_indexes: Sequence[int]


class DeleteOffsetsAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    """For the whole request; then there are no topics."""
    topics: Sequence[TopicResult] = ()


class DeletedGroup(NamedTuple):
    group_id: str
    error: ErrorCode = ErrorCode.NONE


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str

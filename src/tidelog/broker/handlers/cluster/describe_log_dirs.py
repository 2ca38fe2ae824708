"""DescribeLogDirs: the partitions in each log dir, and its free space."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.broker.log_dirs.log_dir import LogDir, ReplicaInfo
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.cordons import is_cordoned
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def handle(context: Context, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    wanted: set[tuple[str, int]] | None = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    moves = context.services.moves
    metadata = context.services.metadata
    cordoned = is_cordoned(metadata.image, metadata.node_id)
    return DescribeLogDirsResponse(
        results=[
            _describe(log_dir, moves.replicas_in(log_dir), wanted, cordoned=cordoned)
            for log_dir in context.services.partitions.log_dirs
        ]
    )


def _describe(
    log_dir: LogDir, replicas: Iterable[ReplicaInfo], wanted: set[tuple[str, int]] | None, *, cordoned: bool
) -> DescribeLogDirsResult:
    if log_dir.offline is not None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=log_dir.path)
    total, usable = log_dir.space()
    topics: dict[str, DescribeLogDirsTopic] = {}
    for replica in replicas:
        if wanted is not None and (replica.topic, replica.index) not in wanted:
            continue
        topic = topics.setdefault(replica.topic, DescribeLogDirsTopic(name=replica.topic, partitions=[]))
        topic.partitions.append(_partition(replica))
    return DescribeLogDirsResult(
        log_dir=log_dir.path,
        topics=list(topics.values()),
        total_bytes=total,
        usable_bytes=usable,
        is_cordoned=cordoned,
    )


def _partition(replica: ReplicaInfo) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=replica.index,
        partition_size=replica.size_bytes,
        offset_lag=replica.lag,
        is_future_key=replica.is_future,
    )

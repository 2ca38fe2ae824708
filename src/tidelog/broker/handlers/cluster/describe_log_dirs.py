"""DescribeLogDirs: what lies in each data folder, and how much room is left there."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.broker.log_dirs.log_dir import DataFolder, ReplicaHere
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def handle(context: Context, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted: set[tuple[str, int]] | None = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    moves = context.services.moves
    return DescribeLogDirsResponse(
        results=[
            _describe(folder, moves.replicas_in(folder), wanted)
            for folder in context.services.partitions.folders
        ]
    )


def _describe(
    folder: DataFolder, replicas: Iterable[ReplicaHere], wanted: set[tuple[str, int]] | None
) -> DescribeLogDirsResult:
    if folder.offline is not None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=folder.path)
    total, usable = folder.space()
    topics: dict[str, DescribeLogDirsTopic] = {}
    for replica in replicas:
        if wanted is not None and (replica.topic, replica.index) not in wanted:
            continue
        topic = topics.setdefault(replica.topic, DescribeLogDirsTopic(name=replica.topic, partitions=[]))
        topic.partitions.append(_partition(replica))
    return DescribeLogDirsResult(
        log_dir=folder.path, topics=list(topics.values()), total_bytes=total, usable_bytes=usable
    )


def _partition(replica: ReplicaHere) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=replica.index,
        partition_size=replica.size_bytes,
        offset_lag=replica.lag,
        is_future_key=replica.is_future,
    )

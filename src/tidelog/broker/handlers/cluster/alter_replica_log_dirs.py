"""AlterReplicaLogDirs: move a partition's log to another log dir of this broker, while it is in use."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


async def handle(context: Context, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    moves = context.services.moves
    is_allowed = context.allows_on_cluster(Operation.ALTER)
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=[])
            )
            for index in topic.partitions:
                answer = AlterReplicaLogDirPartitionResult(partition_index=index)
                result.partitions.append(answer)
                if not is_allowed:
                    answer.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                    continue
                try:
                    moves.begin(topic.name, index, directory.path)
                except KafkaError as error:
                    answer.error_code = error.code
    return AlterReplicaLogDirsResponse(results=list(results.values()))

"""AssignReplicasToDirs: a broker reports in which of its log dirs a replica is."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.requests.context import Context
from tidelog.metadata.brokers.directories import DirectoryAssignment, decide_assign_directories
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)


async def handle(context: Context, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return AssignReplicasToDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    wanted = [
        DirectoryAssignment(directory.id_, topic.topic_id, partition.partition_index)
        for directory in request.directories
        for topic in directory.topics
        for partition in topic.partitions
    ]
    try:
        services.controller.check_active()
        assigned = await services.metadata.change(
            lambda image: decide_assign_directories(
                image, request.broker_id, request.broker_epoch, wanted, services.config
            )
        )
    except KafkaError as error:
        return AssignReplicasToDirsResponse(error_code=error.code)
    directories: dict[Uuid, AssignReplicasToDirsResponseDirectoryData] = {}
    topics: dict[tuple[Uuid, Uuid], AssignReplicasToDirsResponseTopicData] = {}
    for one in assigned:
        key = one.directory, one.topic_id
        if key not in topics:
            topics[key] = AssignReplicasToDirsResponseTopicData(topic_id=one.topic_id)
            directory = directories.setdefault(
                one.directory, AssignReplicasToDirsResponseDirectoryData(id_=one.directory)
            )
            directory.topics.append(topics[key])
        topics[key].partitions.append(
            AssignReplicasToDirsResponsePartitionData(partition_index=one.partition, error_code=one.error)
        )
    return AssignReplicasToDirsResponse(directories=list(directories.values()))

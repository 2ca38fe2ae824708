"""AlterPartitionReassignments: move replicas to other brokers, or call such a move off."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.leaders.reassignments import Reassignment, decide_alter_reassignments
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    context: Context, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return AlterPartitionReassignmentsResponse(error_code=error_code, error_message=error_code.text)
    services = context.services
    wanted = [
        Reassignment(topic.name, partition.partition_index, partition.replicas)
        for topic in request.topics
        for partition in topic.partitions
    ]
    try:
        services.controller.check_active()
        results = await services.metadata.change(
            lambda image: decide_alter_reassignments(
                image,
                wanted,
                allow_replication_factor_change=request.allow_replication_factor_change,
                config=services.config,
            )
        )
    except KafkaError as error:
        return AlterPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)
    topics: dict[str, ReassignableTopicResponse] = {}
    for result in results:
        topic = topics.setdefault(result.topic, ReassignableTopicResponse(name=result.topic))
        topic.partitions.append(
            ReassignablePartitionResponse(
                partition_index=result.partition, error_code=result.error, error_message=result.message
            )
        )
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=list(topics.values()),
    )

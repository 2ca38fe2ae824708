"""ListPartitionReassignments: which replicas are being moved."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.leaders.reassignments import list_reassignments
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def handle(
    context: Context, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ListPartitionReassignmentsResponse(error_code=error_code, error_message=error_code.text)
    services = context.services
    try:
        services.controller.check_active()
    except KafkaError as error:
        return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)
    named = request.topics
    wanted = None if named is None else [(topic.name, topic.partition_indexes) for topic in named]
    topics: dict[str, OngoingTopicReassignment] = {}
    for moving in list_reassignments(services.metadata.image, wanted):
        topic = topics.setdefault(moving.topic, OngoingTopicReassignment(name=moving.topic))
        topic.partitions.append(
            OngoingPartitionReassignment(
                partition_index=moving.partition,
                replicas=list(moving.replicas),
                adding_replicas=list(moving.adding),
                removing_replicas=list(moving.removing),
            )
        )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))

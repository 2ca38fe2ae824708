"""ElectLeaders: give partitions back to their preferred leaders, or find one that misses records."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.metadata.leaders.elections import ElectionKind, decide_elect_leaders
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def handle(context: Context, request: ElectLeadersRequest) -> ElectLeadersResponse:
    services = context.services
    wanted = request.topic_partitions
    if not context.allows_on_cluster(Operation.ALTER):
        return _refused(request)
    named = (
        None if wanted is None else [(topic.topic, index) for topic in wanted for index in topic.partitions]
    )
    try:
        kind = ElectionKind(request.election_type)
    except ValueError:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        services.controller.check_active()
        results = await services.metadata.change(
            lambda image: decide_elect_leaders(image, kind, named, services.config)
        )
    except KafkaError as error:
        return ElectLeadersResponse(error_code=error.code)
    topics: dict[str, ReplicaElectionResult] = {}
    for result in results:
        topic = topics.setdefault(result.topic, ReplicaElectionResult(topic=result.topic))
        topic.partition_result.append(
            PartitionResult(
                partition_id=result.partition, error_code=result.error, error_message=result.message
            )
        )
    return ElectLeadersResponse(replica_election_results=list(topics.values()))


def _refused(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """With the error for every partition, too: responses of version 0 have no other place for it."""
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ElectLeadersResponse(
        error_code=error,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=error, error_message=error.text)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )

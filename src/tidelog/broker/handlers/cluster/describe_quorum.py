"""DescribeQuorum: the voters and observers of the metadata log, and how far each of them is."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.names import CLUSTER_METADATA
from tidelog.raft.status import QuorumStatus, ReplicaStatus
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)


def handle(context: Context, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return DescribeQuorumResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    try:
        services.controller.check_active()
    except KafkaError as error:
        return DescribeQuorumResponse(error_code=error.code, error_message=error.message)
    status = services.metadata.quorum.raft.status()
    response = DescribeQuorumResponse()
    for topic in request.topics:
        answer = DescribeQuorumResponseTopicData(topic_name=topic.topic_name)
        for asked in topic.partitions:
            if topic.topic_name != CLUSTER_METADATA or asked.partition_index != 0:
                answer.partitions.append(
                    DescribeQuorumResponsePartitionData(
                        partition_index=asked.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message="only the partition of the metadata log has a quorum",
                    )
                )
            else:
                answer.partitions.append(_described(context, status))
        response.topics.append(answer)
    response.nodes = _nodes(context, status)
    return response


def _described(context: Context, status: QuorumStatus) -> DescribeQuorumResponsePartitionData:
    # Raft counts entries up to and including the last one; the protocol speaks of the offset after it.
    return DescribeQuorumResponsePartitionData(
        partition_index=0,
        leader_id=-1 if status.leader_id is None else status.leader_id,
        leader_epoch=status.term,
        high_watermark=status.commit_index + 1,
        current_voters=[_replica(context, replica) for replica in status.voters],
        observers=[_replica(context, replica) for replica in status.observers],
    )


def _replica(context: Context, replica: ReplicaStatus) -> ReplicaState:
    clock = context.services.clock
    now, now_ms = clock.monotonic(), clock.now_ms()

    def wall(moment: float | None) -> int:
        if replica.id == context.services.metadata.node_id:
            return now_ms  # the leader, which answers, is never behind itself
        return -1 if moment is None else now_ms - int(1000 * (now - moment))

    return ReplicaState(
        replica_id=replica.id,
        replica_directory_id=replica.storage or ZERO_UUID,
        log_end_offset=replica.last_index + 1,
        last_fetch_timestamp=wall(replica.last_contact),
        last_caught_up_timestamp=wall(replica.last_caught_up),
    )


def _nodes(context: Context, status: QuorumStatus) -> list[Node]:
    brokers = context.services.metadata.image.brokers
    voters = {voter.id for voter in status.voters}
    return [
        Node(
            node_id=id,
            listeners=[
                Listener(name=where.listener, host=where.host, port=where.port)
                for where in brokers[id].endpoints.values()
            ],
        )
        for id in sorted(voters & brokers.keys())
    ]

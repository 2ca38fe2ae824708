"""AlterPartition: a leader reports which of its followers are in sync."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Uuid
from tidelog.broker.requests.context import Context
from tidelog.metadata.leaders.partition_changes import (
    AlteredPartition,
    PartitionAlteration,
    decide_alter_partition,
)
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)

FIRST_VERSION_WITH_EPOCHS = 3


async def handle(context: Context, request: AlterPartitionRequest) -> AlterPartitionResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        return AlterPartitionResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    changes = [
        PartitionAlteration(
            topic.topic_id,
            partition.partition_index,
            partition.leader_epoch,
            partition.partition_epoch,
            [(member.broker_id, member.broker_epoch) for member in partition.new_isr_with_epochs]
            if context.version >= FIRST_VERSION_WITH_EPOCHS
            else [(member, NO_EPOCH) for member in partition.new_isr],
            partition.leader_recovery_state,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    try:
        services.controller.check_active()
        altered = await services.metadata.change(
            lambda image: decide_alter_partition(
                image, request.broker_id, request.broker_epoch, changes, services.config
            )
        )
    except KafkaError as error:
        return AlterPartitionResponse(error_code=error.code)
    topics: dict[Uuid, AlterPartitionResponseTopicData] = {}
    for one in altered:
        topic = topics.setdefault(one.topic_id, AlterPartitionResponseTopicData(topic_id=one.topic_id))
        topic.partitions.append(_answer(one))
    return AlterPartitionResponse(topics=list(topics.values()))


def _answer(altered: AlteredPartition) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(
        partition_index=altered.partition,
        error_code=altered.error,
        leader_id=altered.leader,
        leader_epoch=altered.leader_epoch,
        isr=list(altered.isr),
        partition_epoch=altered.partition_epoch,
    )

"""OffsetForLeaderEpoch: where an epoch ended, so that a reader can tell whether the log was truncated."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


def handle(context: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    response = OffsetForLeaderEpochResponse()
    sees_all = context.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    for topic in request.topics:
        is_allowed = sees_all or context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
        answers = []
        for asked in topic.partitions:
            answer = EpochEndOffset(partition=asked.partition)
            answers.append(answer)
            try:
                if not is_allowed:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                partition = context.services.partitions.find(topic.topic, asked.partition)
                partition.check_epoch(asked.current_leader_epoch)
                answer.leader_epoch, answer.end_offset = partition.log.epoch_end(asked.leader_epoch)
            except KafkaError as error:
                answer.error_code = error.code
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return response

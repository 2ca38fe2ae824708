"""OffsetForLeaderEpoch: where an epoch ended, so that a reader can tell whether the log was truncated."""

from tidelog.base.errors import KafkaError
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


def handle(context: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = EpochEndOffset(partition=asked.partition)
            answers.append(answer)
            try:
                partition = context.services.partitions.find(topic.topic, asked.partition)
                partition.check_epoch(asked.current_leader_epoch)
                answer.leader_epoch, answer.end_offset = partition.log.epoch_end(asked.leader_epoch)
            except KafkaError as error:
                answer.error_code = error.code
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return response

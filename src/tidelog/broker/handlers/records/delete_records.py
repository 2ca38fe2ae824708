"""DeleteRecords: move the start of a log forward; readers lose the records before it at once."""

import logging

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.readable import not_readable_yet, until_readable
from tidelog.replication import refusals
from tidelog.replication.partition import Partition
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1

log = logging.getLogger("tidelog.broker")


async def handle(context: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    partitions = context.services.partitions
    refused = {
        topic.name
        for topic in request.topics
        if not context.allows(Operation.DELETE, ResourceType.TOPIC, topic.name)
    }
    await until_readable(
        not_readable_yet(
            partitions,
            (
                (topic.name, asked.partition_index)
                for topic in request.topics
                if topic.name not in refused
                for asked in topic.partitions
            ),
        )
    )
    response = DeleteRecordsResponse()
    deleted: list[DeleteRecordsPartitionResult] = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1)
            answers.append(answer)
            try:
                if topic.name in refused:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                partition = partitions.find(topic.name, asked.partition_index)
                if topic.name in context.services.written_by_brokers:  # the state that is there needs them
                    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
                _delete(partition, asked.offset)
            except KafkaError as error:
                answer.error_code = error.code
            else:
                answer.low_watermark = partition.log.start
                deleted.append(answer)
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    if deleted:
        try:
            # Durable before the response: deleted records must not come back.
            await partitions.checkpoint()
        except OSError as error:
            log.error("records were deleted, but a restart could bring them back: %s", error)
            for answer in deleted:
                answer.error_code, answer.low_watermark = ErrorCode.KAFKA_STORAGE_ERROR, -1
    return response


def _delete(partition: Partition, offset: int) -> None:
    if partition.log.offline is not None:
        raise refusals.offline(partition)
    if not partition.log.config.delete:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            "records of a topic without cleanup.policy=delete are not deleted by offset",
        )
    before = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if before < 0 or before > partition.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    partition.log.delete_before(before)

"""ListOffsets: the start and the end of a log, and the offset for a timestamp."""

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ANY_REPLICA, Offset
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.readable import not_readable_yet, until_readable
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import LOG_END, limit_of_consumer
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4  # without tiers, everything is local,
LATEST_TIERED = -5  # nothing is tiered,
EARLIEST_PENDING_UPLOAD = -6  # and nothing waits to be

FIRST_VERSION_OF = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
WITHOUT_END = {EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD}
NOT_AVAILABLE_SINCE = 5


def handle(
    context: Context, request: ListOffsetsRequest
) -> ListOffsetsResponse | Coroutine[None, None, ListOffsetsResponse]:
    refused = _not_allowed(context, request)
    ends = (
        (topic.name, asked.partition_index)
        for topic in request.topics
        if topic.name not in refused
        for asked in topic.partitions
        if asked.timestamp not in WITHOUT_END
    )
    behind = not_readable_yet(context.services.partitions, ends)
    if behind:
        return _after_sync(context, request, refused, behind)
    return _answer(context, request, refused)


def _not_allowed(context: Context, request: ListOffsetsRequest) -> dict[str, ErrorCode]:
    """The topics that the client may not ask about. Only a replica may see offsets that are not committed.

    A broker that is none asks for the lag of its groups: it sees what consumers do, of every topic.
    """
    if request.replica_id >= 0 and not context.comes_from_broker():
        return dict.fromkeys((topic.name for topic in request.topics), ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if request.replica_id == ANY_REPLICA and context.may_come_from_broker():
        return {}
    return {
        topic.name: ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for topic in request.topics
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
    }


async def _after_sync(
    context: Context,
    request: ListOffsetsRequest,
    refused: Mapping[str, ErrorCode],
    behind: list[Partition],
) -> ListOffsetsResponse:
    await until_readable(behind)
    return _answer(context, request, refused)


def _answer(
    context: Context, request: ListOffsetsRequest, refused: Mapping[str, ErrorCode]
) -> ListOffsetsResponse:
    response = ListOffsetsResponse()
    for topic in request.topics:
        times = Counter(asked.partition_index for asked in topic.partitions)
        answers = []
        for asked in {asked.partition_index: asked for asked in topic.partitions}.values():
            answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
            answers.append(answer)
            try:
                if topic.name in refused:
                    raise KafkaError(refused[topic.name])
                if times[asked.partition_index] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition is named twice")
                partition = context.services.partitions.find(topic.name, asked.partition_index)
                partition.check_epoch(asked.current_leader_epoch)
                _check_version(asked.timestamp, context.version)
                _look_up(
                    partition, asked, answer, partial(_readable_end, partition, request, context.version)
                )
            except KafkaError as error:
                answer.error_code = error.code
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return response


def _check_version(timestamp: int, version: int) -> None:
    """Negative timestamps have special meanings, each since a version of its own."""
    if timestamp < 0 and version < FIRST_VERSION_OF.get(timestamp, 2**15):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def _readable_end(partition: Partition, request: ListOffsetsRequest, version: int) -> Offset:
    if request.replica_id >= 0:
        return partition.readable_end(LOG_END)
    if not partition.high_watermark_is_current:
        # A new leader does not know yet how far its followers are: consumers may have read beyond this.
        older = ErrorCode.LEADER_NOT_AVAILABLE
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE if version >= NOT_AVAILABLE_SINCE else older)
    return partition.readable_end(limit_of_consumer(request.isolation_level))


def _look_up(
    partition: Partition,
    asked: ListOffsetsPartition,
    answer: ListOffsetsPartitionResponse,
    readable_end: Callable[[], Offset],
) -> None:
    log = partition.log
    match asked.timestamp:
        case -1:
            answer.offset = readable_end()
            answer.leader_epoch = partition.leader_epoch
        case -2 | -4:
            answer.offset = log.start
            answer.leader_epoch = log.leader_epochs.epoch_of(log.start)
        case -5 | -6:
            pass
        case wanted:
            result = log.max_timestamp() if wanted == MAX_TIMESTAMP else log.find_by_time(wanted)
            if result is not None and result.offset < readable_end():
                answer.offset, answer.timestamp, answer.leader_epoch = result

"""AlterShareGroupOffsets (KIP-932): a group without members goes on somewhere else."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.broker.handlers.group_states import group_states_of
from tidelog.broker.handlers.shares.served import check_group, check_offered
from tidelog.broker.requests.context import Context
from tidelog.groups.share.offsets import AlterAnswer
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

LEAST_OFFSET = -1
"""The group starts by its `share.auto.offset.reset`."""

Errors = dict[tuple[str, int], ErrorCode]


async def handle(context: Context, request: AlterShareGroupOffsetsRequest) -> AlterShareGroupOffsetsResponse:
    wanted: dict[str, dict[int, Offset]] = {}
    errors: Errors = {}
    try:
        check_offered(context.services)
        check_group(context, request.group_id)
        for topic in request.topics:
            refusal = _refusal(context, topic.topic_name)
            for one in topic.partitions:
                wrong = ErrorCode.INVALID_REQUEST if one.start_offset < LEAST_OFFSET else ErrorCode.NONE
                errors[topic.topic_name, one.partition_index] = refusal or wrong
                if not (refusal or wrong):
                    wanted.setdefault(topic.topic_name, {})[one.partition_index] = one.start_offset
        answer = await _alter(context, request.group_id, wanted)
    except KafkaError as error:
        return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)
    if answer.error:
        return AlterShareGroupOffsetsResponse(error_code=answer.error, error_message=answer.error_message)
    for unknown in answer.unknown:
        errors[unknown.topic_name, unknown.partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    errors |= await _make(context, answer)
    return AlterShareGroupOffsetsResponse(
        responses=[
            _topic(context, topic.topic_name, [one.partition_index for one in topic.partitions], errors)
            for topic in request.topics
        ]
    )


def _refusal(context: Context, topic: str) -> ErrorCode:
    if not context.allows(Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    is_there = context.services.metadata.image.topic(topic) is not None
    return ErrorCode.NONE if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def _alter(context: Context, group_id: str, wanted: dict[str, dict[int, Offset]]) -> AlterAnswer:
    served = context.services.groups.of(group_id)
    decision = served.shard.alter_share_offsets(group_id, wanted, *served.now)
    return await served.run(decision, lambda answer: answer)


async def _make(context: Context, answer: AlterAnswer) -> Errors:
    """The error of each partition that the persister was asked for."""
    if answer.to_make is None:
        return {}
    image = context.services.metadata.image
    try:
        made = await group_states_of(context.services).make(answer.to_make)
    except KafkaError as error:
        made = {
            (topic, number): error.code
            for topic, numbers in answer.to_make.partitions.items()
            for number in numbers
        }
    found = ((image.topic_by_id(topic_id), number, error) for (topic_id, number), error in made.items())
    return {(topic.name, number): error for topic, number, error in found if topic is not None}


def _topic(
    context: Context, name: str, numbers: list[int], errors: Errors
) -> AlterShareGroupOffsetsResponseTopic:
    topic = context.services.metadata.image.topic(name)
    # The id of a topic that the client may not read stays out of the answer.
    is_shown = topic is not None and ErrorCode.TOPIC_AUTHORIZATION_FAILED not in {
        errors.get((name, number)) for number in numbers
    }
    results = [(number, errors.get((name, number), ErrorCode.NONE)) for number in numbers]
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=topic.id if topic is not None and is_shown else bytes(16),
        partitions=[
            AlterShareGroupOffsetsResponsePartition(
                partition_index=number, error_code=error, error_message=error.text if error else None
            )
            for number, error in results
        ],
    )

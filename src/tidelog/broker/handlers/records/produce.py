"""Produce: append batches, and respond once as many replicas have them as `acks` asks for.

Every partition has its own result; one bad batch, or a topic that the client may not write, does not keep the
others from being written.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import uuid_text
from tidelog.broker.handlers.records.appending import ACKS_ALL, append, refused
from tidelog.broker.handlers.records.permissions import RefusedTopics, topics_not_writable
from tidelog.broker.handlers.records.transactional_produce import Guards, in_transaction
from tidelog.broker.handlers.records.validated_produce import CheckedAppend, Waits
from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection, NoResponse, response_of
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.delayed_produce import DelayedProduce, UncommittedAppend
from tidelog.wire.batch import ATTRIBUTES_AT, CODEC_MASK
from tidelog.wire.compression import Codec
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

FIRST_VERSION_WITH_ZSTD = 7


MaybeResponse: TypeAlias = ProduceResponse | NoResponse


def handle(context: Context, request: ProduceRequest) -> MaybeResponse | Awaitable[MaybeResponse]:
    refused = topics_not_writable(context, request)
    if request.transactional_id is None:
        return _produce(context, request, {}, refused)
    return in_transaction(
        context, request, refused, lambda guards: _produce(context, request, guards, refused)
    )


def _produce(
    context: Context, request: ProduceRequest, guards: Guards, forbidden: RefusedTopics
) -> MaybeResponse | Awaitable[MaybeResponse]:
    waits = Waits([], [])
    response = _append_all(context, request, guards, forbidden, waits)
    if waits.checks:
        return _after_checks(context, request, response, waits)
    return _answered(context, request, response, waits.uncommitted)


async def _after_checks(
    context: Context,
    request: ProduceRequest,
    response: ProduceResponse,
    waits: Waits,
) -> MaybeResponse:
    """Schemas are looked up; meanwhile the answers for their partitions are filled in."""
    await asyncio.gather(*waits.checks)
    return await response_of(_answered(context, request, response, waits.uncommitted))


def _answered(
    context: Context,
    request: ProduceRequest,
    response: ProduceResponse,
    uncommitted: list[UncommittedAppend],
) -> MaybeResponse | Awaitable[MaybeResponse]:
    if request.acks == 0:
        _close_on_error(context, response)
        return NO_RESPONSE
    if uncommitted:
        return DelayedProduce(response, uncommitted, request.timeout_ms).future
    return response


def _append_all(
    context: Context,
    request: ProduceRequest,
    guards: Guards,
    forbidden: RefusedTopics,
    waits: Waits,
) -> ProduceResponse:
    """Adds to `waits` what the response has to wait for."""
    services = context.services
    now_ms = services.clock.now_ms()
    by_id = context.version >= 13
    topics: list[TopicProduceResponse] = []
    for topic in request.topic_data:
        key = topic.topic_id if by_id else topic.name
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            log_start = -1
            try:
                if key in forbidden:
                    raise forbidden[key]
                partition = services.partitions.find(key, data.index)
                if partition.topic in services.written_by_brokers:
                    raise _written_by_brokers(partition.topic)
                if context.version < FIRST_VERSION_WITH_ZSTD:
                    _refuse_zstd(data)
                log_start = partition.log.start
                guard = guards.get((key, data.index))
                if isinstance(guard, KafkaError):
                    raise guard
                answer = PartitionProduceResponse(index=data.index)
                records = _checked_records(request, data)
                if partition.log.config.schema_checks is None:
                    append(
                        *(partition, request, records, answer),
                        now_ms=now_ms,
                        uncommitted=waits.uncommitted,
                        guard=guard,
                    )
                else:
                    CheckedAppend(partition, request, answer, waits, guard).submit(context, records)
                answers.append(answer)
            except KafkaError as error:
                services.partitions.note_refused(key, data.index)
                answers.append(refused(data.index, error, log_start))
        topics.append(
            TopicProduceResponse(topic_id=topic.topic_id, name=topic.name, partition_responses=answers)
        )
    return ProduceResponse(responses=topics)


def _written_by_brokers(topic: str) -> KafkaError:
    """A record that a coordinator cannot read would keep it from loading its state."""
    return KafkaError(
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"brokers keep their state in {topic}, and no client writes to it: produce to another topic",
    )


def _refuse_zstd(data: PartitionProduceData) -> None:
    """Clients that use such old versions could not read the records back."""
    records = data.records or b""
    if len(records) > ATTRIBUTES_AT + 1 and records[ATTRIBUTES_AT + 1] & CODEC_MASK == Codec.ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs version {FIRST_VERSION_WITH_ZSTD} of Produce",
        )


def _checked_records(request: ProduceRequest, data: PartitionProduceData) -> memoryview:
    if request.acks not in (ACKS_ALL, 0, 1):
        raise KafkaError(
            ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; it may be -1 (all), 0 or 1"
        )
    if data.records is None:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the request holds no records for the partition")
    return data.records


def _close_on_error(context: Context, response: ProduceResponse) -> None:
    """With acks=0 the client gets no response, so closing its connection is how it learns of an error."""
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                where = topic.name or uuid_text(topic.topic_id)
                raise CloseConnection(
                    context.connection,
                    f"acks=0 produce to {where}-{answer.index} failed with error {answer.error_code:d}: "
                    f"{answer.error_message}",
                )

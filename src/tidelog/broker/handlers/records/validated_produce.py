"""Produce to a topic whose schemas are checked: an answer comes now, or once schemas are looked up."""

import asyncio
from functools import partial
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.records.appending import append, refuse
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.delayed_produce import UncommittedAppend
from tidelog.replication.partition import Partition
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceRequest


class Waits(NamedTuple):
    """What the response to a request has to wait for."""

    uncommitted: list[UncommittedAppend]
    """Appends, with acks=all."""
    checks: "list[asyncio.Future[None]]"
    """Schemas that are looked up. An append may come of each."""


OFF = (
    "the topic's settings ask for a check of schemas, and the schema registry is off on this broker: set "
    "schema.registry.port, or switch off the topic's confluent.key.schema.validation and "
    "confluent.value.schema.validation"
)


class CheckedAppend:
    """One batch of a request."""

    def __init__(
        self,
        partition: Partition,
        request: ProduceRequest,
        answer: PartitionProduceResponse,
        waits: Waits,
        guard: VerificationGuard | None,
    ) -> None:
        self._partition = partition
        self._request = request
        self._answer = answer
        self._waits = waits
        self._guard = guard

    def submit(self, context: Context, records: memoryview) -> None:
        services = context.services
        if services.registry is None:
            raise KafkaError(ErrorCode.INVALID_RECORD, OFF)
        finish = partial(self._finish, services)
        waits = services.registry.validation.submit(context.connection, self._partition, records, finish)
        if waits is not None:
            self._waits.checks.append(waits)

    def _finish(self, services: Services, records: memoryview, refusal: KafkaError | None) -> None:
        partition = self._partition
        log_start = partition.log.start
        try:
            if refusal is not None:
                raise refusal
            append(
                *(partition, self._request, records, self._answer),
                now_ms=services.clock.now_ms(),
                uncommitted=self._waits.uncommitted,
                guard=self._guard,
                schemas_checked=True,
            )
        except KafkaError as error:
            services.partitions.note_refused(partition.topic, partition.index)
            refuse(self._answer, error, log_start)

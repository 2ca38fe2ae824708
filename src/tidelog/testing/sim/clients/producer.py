"""A producer that sends a few batches at a time and tells the history what became of each.

With acks=all it is idempotent: what failed is sent again, in order and under the same sequence numbers, until
its fate is clear. When that takes too long it starts anew under another producer id.
"""

import asyncio
import random
from collections.abc import Callable, Sequence

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import Completion, History, Operation, Sent
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.testing.sim.clients.transactional_writes import COME_BACK
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCE_BY_NAME = 9
PRODUCE_BY_ID = 13
INIT_PRODUCER_ID_VERSION = 4
ACKS_ALL = -1
IN_FLIGHT = (1, 1, 2, 4)
RECORDS = (1, 1, 2, 3)

CERTAINLY_NOT_WRITTEN = {
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_TOPIC_ID,
}
"""All other errors may come after the records were written."""

EXPECTED = COME_BACK | CERTAINLY_NOT_WRITTEN | {ErrorCode.INVALID_TIMESTAMP}
"""A producer that does nothing wrong gets no other errors; the last one if the clock of a broker is wrong."""


RecordOf = Callable[[int, str, random.Random], tuple[Record, int]]
"""From the place in a batch and the value to a record, and to the time at which share groups may have it."""


def plain_record(number: int, value: str, _: random.Random) -> tuple[Record, int]:
    return Record(number, 1_700_000_000_000, None, value.encode(), []), 0


class SentBatch:
    """On its way to a partition."""

    __slots__ = ("maybe_written", "operation", "records", "sequence", "values")

    def __init__(self, records: list[Record], sequence: int, operation: Operation) -> None:
        self.records = records
        self.values = [sent.value for sent in operation.sent]
        self.sequence = sequence
        self.operation = operation
        self.maybe_written = False


class SimProducer:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        history: History,
        *,
        topics: dict[str, int],
        acks: int,
        patience_seconds: float = 6.0,
        sends_per_second: float = 10.0,
        batch_records: Sequence[int] = RECORDS,
        record_of: RecordOf = plain_record,
    ) -> None:
        """`batch_records`: the sizes of batches to choose from."""
        self._loop = loop
        self._client = client
        self._history = history
        self._batch_records = batch_records
        self._record_of = record_of
        self._partitions = [(name, index) for name, count in topics.items() for index in range(count)]
        self.acks = acks
        self._patience = patience_seconds
        self._gap = 1.0 / sends_per_second
        self._next_value = 0
        self._producer_id = -1
        self._producer_epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}
        self.complaints: list[str] = []
        self.is_stopping = False

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._gap * (0.5 + self._client.chance.random()))
            if self.is_stopping:  # a rare sender sleeps for longer than the last reader waits
                return
            if self.acks == ACKS_ALL and self._producer_id < 0:
                await self._begin()
            else:
                await self._send_some()

    async def _begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=None)
        try:
            answer = await self._client.call_any(
                ApiKey.INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, request, 3.0
            )
        except OSError:
            return
        if not answer.error_code:
            self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
            self._sequences.clear()

    async def _send_some(self) -> None:
        topic, index = place = self._client.chance.choice(self._partitions)
        sequence = self._sequences.get(place, 0)
        batches: list[SentBatch] = []
        for _ in range(self._client.chance.choice(IN_FLIGHT)):
            batches.append(self._new_batch(topic, index, sequence))
            sequence += len(batches[-1].values)
        self._sequences[place] = sequence
        left = await self._send_until_clear(topic, index, batches)
        if not left:
            return
        if any(batch.maybe_written for batch in left):
            self._producer_id = -1
        else:
            self._sequences[place] = left[0].sequence
        for batch in left:
            batch.operation.outcome = Completion.INFO if batch.maybe_written else Completion.FAIL
            batch.operation.ended = self._loop.now

    def _new_batch(self, topic: str, index: int, sequence: int) -> SentBatch:
        client = self._client
        count = client.chance.choice(self._batch_records)
        values = [f"{client.name}-{self._next_value + number}" for number in range(count)]
        made = [self._record_of(number, value, client.chance) for number, value in enumerate(values)]
        self._next_value += count
        # In the history at once: a client that dies leaves operations of unknown fate.
        operation = self._history.add(
            Operation(
                client.name,
                "send",
                Completion.INFO,
                started=self._loop.now,
                sent=[
                    Sent(f"{topic}-{index}", value, due_ms=due_ms)
                    for value, (_, due_ms) in zip(values, made, strict=True)
                ],
                acks=self.acks,
                idempotent=self.acks == ACKS_ALL,
            )
        )
        return SentBatch([record for record, _ in made], sequence, operation)

    async def _send_until_clear(self, topic: str, index: int, batches: list[SentBatch]) -> list[SentBatch]:
        """Those whose fate is still unclear when patience has run out."""
        deadline = self._loop.now + self._patience
        left = batches
        while left and self._loop.now < deadline:
            leader = await self._client.leader_of(topic, index)
            if leader is None:
                await self._client.pause()
                continue
            address = leader[0]
            if self.acks == 0:
                self._send_blindly(address, topic, index, left)
                return []
            # If it may have been written before, and others after it, it may lie too far back: a leader that
            # was started again knows the last batch of a producer, and not always those before it.
            is_next = not left[0].maybe_written or len(batches) == 1
            # Pipelined: on one connection they arrive in this order, or not at all.
            errors = await asyncio.gather(*(self._attempt(address, topic, index, batch) for batch in left))
            left = [batch for batch, error in zip(left, errors, strict=True) if error is not ErrorCode.NONE]
            if errors[0] is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                if is_next:
                    self.complaints.append(
                        f"{self._client.name} sent {left[0].values[0]} to {topic}-{index} as "
                        f"{left[0].sequence}, the next after what was acknowledged, and was refused as "
                        f"out of order"
                    )
                left[0].maybe_written = True  # so that the producer starts anew
                return left
            if left:
                await self._client.pause()
                await self._client.refresh([topic])
        return left

    def _send_blindly(self, address: Address, topic: str, index: int, batches: list[SentBatch]) -> None:
        for batch in batches:
            request = self._request(topic, index, batch)
            self._client.post(address, ApiKey.PRODUCE, PRODUCE_BY_NAME, request)
            batch.operation.outcome, batch.operation.ended = Completion.INFO, self._loop.now

    async def _attempt(self, address: Address, topic: str, index: int, batch: SentBatch) -> ErrorCode | None:
        """NONE: it is written; None: no answer came."""
        version = PRODUCE_BY_ID if self._client.chance.random() < 0.5 else PRODUCE_BY_NAME
        operation = batch.operation
        try:
            answer = await self._client.call(
                address, ApiKey.PRODUCE, version, self._request(topic, index, batch), 1.5
            )
        except OSError as error:
            batch.maybe_written = True
            operation.error = repr(error)
            return None
        [topic_answer] = answer.responses
        [partition] = topic_answer.partition_responses
        code = ERRORS[partition.error_code]
        if code is ErrorCode.NONE or (code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER and self.acks == ACKS_ALL):
            operation.outcome, operation.ended, operation.error = Completion.OK, self._loop.now, ""
            if partition.base_offset >= 0:
                for number, sent in enumerate(operation.sent):
                    sent.offset = partition.base_offset + number
            return ErrorCode.NONE
        operation.error = code.name
        if code not in EXPECTED:
            problem = f"{self._client.name} wrote to {topic}-{index} and was refused with {code.name}"
            self.complaints.append(f"{problem}: {partition.error_message}")
        batch.maybe_written = batch.maybe_written or code not in CERTAINLY_NOT_WRITTEN
        return code

    def _request(self, topic: str, index: int, batch: SentBatch) -> ProduceRequest:
        is_idempotent = self.acks == ACKS_ALL
        data = write_batch(
            batch.records,
            producer_id=self._producer_id if is_idempotent else -1,
            producer_epoch=self._producer_epoch if is_idempotent else -1,
            base_sequence=batch.sequence if is_idempotent else -1,
        )
        named = TopicProduceData(
            name=topic,
            topic_id=self._client.topic_ids.get(topic, bytes(16)),
            partition_data=[PartitionProduceData(index=index, records=memoryview(data))],
        )
        return ProduceRequest(acks=self.acks, timeout_ms=1_000, topic_data=[named])

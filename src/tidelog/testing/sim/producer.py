"""A producer that sends one batch after the other and tells the history what became of each.

With acks=all it is idempotent: a batch is sent again under the same sequence number until its fate is known.
When that takes too long it starts anew under another producer id, since nobody can tell any more.
"""

import asyncio
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import History, Operation, Outcome, Sent
from tidelog.testing.sim.client import ERRORS, Client
from tidelog.testing.sim.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCE_BY_NAME = 9
PRODUCE_BY_ID = 13
INIT_PRODUCER_ID_VERSION = 4
ACKS_ALL = -1

CERTAINLY_NOT_WRITTEN = {
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
}
"""All other errors may come after the records were written."""


class Attempt(NamedTuple):
    error: ErrorCode | None
    """None: no answer came."""
    offset: int = -1


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
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._partitions = [(name, index) for name, count in topics.items() for index in range(count)]
        self.acks = acks
        self._patience = patience_seconds
        self._gap = 1.0 / sends_per_second
        self._next_value = 0
        self._producer_id = -1
        self._producer_epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}
        self.complaints: list[str] = []
        """Refusals of a sequence number that nothing but a lost record explains."""
        self.is_stopping = False

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._gap * (0.5 + self._client.chance.random()))
            if self.acks == ACKS_ALL and self._producer_id < 0:
                await self._begin()
                continue
            await self._send_one()

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

    async def _send_one(self) -> None:
        client, now = self._client, self._loop.now
        topic, index = place = client.chance.choice(self._partitions)
        values = [f"{client.name}-{self._next_value + n}" for n in range(client.chance.choice((1, 1, 2, 3)))]
        self._next_value += len(values)
        operation = Operation(
            client.name,
            "send",
            Outcome.INFO,
            started=now,
            sent=[Sent(f"{topic}-{index}", value) for value in values],
            acks=self.acks,
            idempotent=self.acks == ACKS_ALL,
        )
        self._history.add(operation)  # at once: a client that dies leaves an operation of unknown fate
        sequence = self._sequences.get(place, 0)
        outcome, offset, error = await self._attempts(topic, index, values, sequence)
        operation.outcome, operation.ended, operation.error = outcome, self._loop.now, error
        if outcome is Outcome.OK:
            self._sequences[place] = sequence + len(values)
            if offset >= 0:
                for number, sent in enumerate(operation.sent):
                    sent.offset = offset + number
        elif outcome is Outcome.INFO and self.acks == ACKS_ALL:
            self._producer_id = -1

    async def _attempts(
        self, topic: str, index: int, values: list[str], sequence: int
    ) -> tuple[Outcome, int, str]:
        deadline = self._loop.now + self._patience
        maybe_written, told = False, "no leader"
        while self._loop.now < deadline:
            found = await self._client.leader_of(topic, index)
            if found is None:
                await self._client.pause()
                continue
            address, _ = found
            if self.acks == 0:
                self._client.post(
                    address, ApiKey.PRODUCE, PRODUCE_BY_NAME, self._request(topic, index, values, -1)
                )
                return Outcome.OK, -1, ""
            attempt = await self._attempt(address, self._request(topic, index, values, sequence))
            if attempt.error in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}:
                return Outcome.OK, attempt.offset, ""
            told = "no answer" if attempt.error is None else attempt.error.name
            if attempt.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not maybe_written:
                self.complaints.append(
                    f"{self._client.name} sent {values[0]} to {topic}-{index} as sequence {sequence}, "
                    f"the one after what was acknowledged, and was told that it is out of order"
                )
                return Outcome.INFO, -1, told
            maybe_written = maybe_written or attempt.error not in CERTAINLY_NOT_WRITTEN
            await self._client.pause()
            await self._client.refresh([topic])
        return Outcome.INFO if maybe_written else Outcome.FAIL, -1, told

    async def _attempt(self, address: tuple[str, int], request: ProduceRequest) -> Attempt:
        version = PRODUCE_BY_ID if self._client.chance.random() < 0.5 else PRODUCE_BY_NAME
        try:
            answer = await self._client.call(address, ApiKey.PRODUCE, version, request, 1.5)
        except OSError:
            return Attempt(None)
        [topic_answer] = answer.responses
        [partition] = topic_answer.partition_responses
        return Attempt(ERRORS[partition.error_code], partition.base_offset)

    def _request(self, topic: str, index: int, values: list[str], sequence: int) -> ProduceRequest:
        records = [Record(n, 1_700_000_000_000, None, value.encode(), []) for n, value in enumerate(values)]
        is_idempotent = self.acks == ACKS_ALL
        batch = write_batch(
            records,
            producer_id=self._producer_id if is_idempotent else -1,
            producer_epoch=self._producer_epoch if is_idempotent else -1,
            base_sequence=sequence if is_idempotent else -1,
        )
        data = PartitionProduceData(index=index, records=memoryview(batch))
        named = TopicProduceData(
            name=topic, topic_id=self._client.topic_ids.get(topic, bytes(16)), partition_data=[data]
        )
        return ProduceRequest(acks=self.acks, timeout_ms=1_000, topic_data=[named])

"""What transactional clients have in common: an identity, a coordinator, writes and ends of transactions.

In the first protocol partitions are added to a transaction before they are written to; in the second
(KIP-890) writing adds them, and each end of a transaction gives the producer a new epoch.
"""

from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.client import ERRORS, Address, Client
from tidelog.testing.sim.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

FIND_COORDINATOR_VERSION, ADD_PARTITIONS_VERSION = 3, 3
TRANSACTION = 1
STAMP_MS = 1_600_000_000_000
"""Long ago, so that it is not in the future of a broker whose clock was set back."""
PATIENCE_SECONDS = 6.0
TIMEOUT_MS = 4_000

COME_BACK = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NETWORK_EXCEPTION,
}


CERTAINLY_NOT_DONE = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS}


class GaveUp(Exception):
    """No answer in time, or one that ends the transaction."""

    def __init__(self, error: ErrorCode | None = None, *, maybe_done: bool = True) -> None:
        super().__init__(error.name if error is not None else "no answer")
        self.maybe_done = maybe_done
        """An earlier attempt may have been carried out."""


class TransactionalClient:
    def __init__(
        self, loop: SimLoop, client: Client, transactional_id: str, *, second_protocol: bool
    ) -> None:
        self._loop = loop
        self._client = client
        self.transactional_id = transactional_id
        self.second_protocol = second_protocol
        self._coordinator: Address | None = None
        self._producer_id = self._producer_epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}
        self._added: dict[tuple[str, int], None] = {}

    async def begin(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=TIMEOUT_MS
        )
        answer = await self.ask_coordinator(ApiKey.INIT_PRODUCER_ID, 4, request, lambda a: a.error_code)
        self._take_identity(answer.producer_id, answer.producer_epoch)

    def _take_identity(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self._producer_id, self._producer_epoch):
            self._sequences.clear()
        self._producer_id, self._producer_epoch = producer_id, epoch

    @property
    def has_identity(self) -> bool:
        return self._producer_id >= 0

    @property
    def identity(self) -> tuple[int, int]:
        return self._producer_id, self._producer_epoch

    async def add_offsets(self, group: str) -> None:
        """Offsets of this group become part of the transaction; in the second protocol committing does it."""
        if not self.second_protocol:
            request = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                group_id=group,
            )
            await self.ask_coordinator(ApiKey.ADD_OFFSETS_TO_TXN, 3, request, lambda a: a.error_code)

    def lose_identity(self) -> None:
        """Nobody knows what became of the last transaction: the next identity ends it."""
        self._producer_id = -1
        self._added.clear()

    async def write(self, place: tuple[str, int], values: list[str]) -> int:
        """Within the transaction; the offset, or -1 where it is not told."""
        topic, index = place
        if not self.second_protocol and place not in self._added:
            await self._add(topic, index)
            self._added[place] = None
        sequence = self._sequences.get(place, 0)
        offset = await self._write(topic, index, values, sequence)
        self._sequences[place] = sequence + len(values)
        return offset

    async def _add(self, topic: str, index: int) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[index])],
        )
        await self.ask_coordinator(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            ADD_PARTITIONS_VERSION,
            request,
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )

    async def _write(self, topic: str, index: int, values: list[str], sequence: int) -> int:
        """The offset; again and again under the same sequence number until it is known."""
        deadline = self._loop.now + PATIENCE_SECONDS
        while self._loop.now < deadline:
            found = await self._client.leader_of(topic, index)
            if found is not None:
                request = self._request(topic, index, values, sequence)
                version = 12 if self.second_protocol else 9
                try:
                    answer = await self._client.call(found[0], ApiKey.PRODUCE, version, request, 1.5)
                except OSError:
                    pass
                else:
                    partition = answer.responses[0].partition_responses[0]
                    code = ERRORS[partition.error_code]
                    if code is ErrorCode.NONE:
                        return int(partition.base_offset)
                    if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                        return -1
                    if code not in COME_BACK:
                        raise GaveUp(code)
            await self._client.pause()
            await self._client.refresh([topic])
        raise GaveUp

    def _request(self, topic: str, index: int, values: list[str], sequence: int) -> ProduceRequest:
        records = [Record(number, STAMP_MS, None, value.encode(), []) for number, value in enumerate(values)]
        data = write_batch(
            records,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        partition = PartitionProduceData(index=index, records=memoryview(data))
        named = TopicProduceData(name=topic, partition_data=[partition])
        return ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=1_000, topic_data=[named]
        )

    async def end(self, *, commit: bool) -> None:
        self._added.clear()
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=commit,
        )
        version = 5 if self.second_protocol else 3
        answer: EndTxnResponse = await self.ask_coordinator(
            ApiKey.END_TXN, version, request, lambda a: a.error_code
        )
        if self.second_protocol:
            self._take_identity(answer.producer_id, answer.producer_epoch)

    # The coordinator

    async def ask_coordinator(self, api_key: ApiKey, version: int, request: Message, code_of: Any) -> Any:
        """Until somebody who may says yes; GaveUp where that takes too long or is a no."""
        deadline = self._loop.now + PATIENCE_SECONDS
        maybe_done = False
        while self._loop.now < deadline:
            try:
                coordinator = await self._find_coordinator()
            except OSError:
                await self._client.pause()
                continue
            try:
                answer = await self._client.call(coordinator, api_key, version, request, 1.5)
            except OSError:
                maybe_done = True
                self._coordinator = None
                await self._client.pause()
                continue
            code = ERRORS[code_of(answer)]
            if code is ErrorCode.NONE:
                return answer
            if code not in COME_BACK:
                raise GaveUp(code, maybe_done=maybe_done)
            maybe_done = maybe_done or code not in CERTAINLY_NOT_DONE
            if code in {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}:
                self._coordinator = None
            await self._client.pause()
        raise GaveUp

    async def _find_coordinator(self) -> Address:
        if self._coordinator is None:
            request = FindCoordinatorRequest(key=self.transactional_id, key_type=TRANSACTION)
            answer = await self._client.call_any(
                ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, 2.0
            )
            if answer.error_code:
                raise ConnectionError(f"no coordinator: {answer.error_code}")
            self._coordinator = answer.host, answer.port
        return self._coordinator

"""What transactional clients have in common: an identity, a coordinator, writes and ends of transactions.

In the first protocol partitions are added to a transaction before they are written to; in the second
(KIP-890) writing adds them, and each end of a transaction gives the producer a new epoch.
"""

from collections.abc import Callable
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.testing.sim.clients.refusals import Refusal, complaint_of
from tidelog.testing.sim.clients.transactional_writes import (
    COME_BACK,
    PATIENCE_SECONDS,
    TransactionalBatch,
    Writes,
)
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.transactions.transaction import Transaction
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
TIMEOUT_MS = 4_000

CERTAINLY_NOT_DONE = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS}

LookUp = Callable[[str], Transaction | None]
"""How a transaction stands inside the cluster, by its transactional id; None where no coordinator can say."""


class TransactionGaveUp(Exception):
    """No answer in time, or one that ends the transaction."""

    def __init__(self, error: ErrorCode | None = None, *, maybe_done: bool = True) -> None:
        super().__init__(error.name if error is not None else "no answer")
        self.error = error
        self.maybe_done = maybe_done
        """An earlier attempt may have been carried out."""


class TransactionalClient:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        transactional_id: str,
        *,
        second_protocol: bool,
        look_up: LookUp,
    ) -> None:
        self._loop = loop
        self._client = client
        self.transactional_id = transactional_id
        self.second_protocol = second_protocol
        self._look_up = look_up
        self._coordinator: Address | None = None
        self._producer_id = self._producer_epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}
        self._added: dict[tuple[str, int], None] = {}
        self._has_written = False
        self.complaints: list[str] = []
        """Answers that had no reason."""

    async def begin(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=TIMEOUT_MS
        )
        try:
            answer = await self.ask_coordinator(ApiKey.INIT_PRODUCER_ID, 4, request, lambda a: a.error_code)
        except TransactionGaveUp as failure:
            if failure.error is not None:
                self.complaints.append(
                    f"{self.transactional_id} asked for an epoch and got {failure.error.name}"
                )
            raise
        self._has_written = False
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
            await self._ask_with_reason(
                ApiKey.ADD_OFFSETS_TO_TXN, 3, request, lambda a: a.error_code, "added a group"
            )

    def lose_identity(self) -> None:
        """The fate of the last transaction is unclear: the next identity ends it."""
        self._producer_id = -1
        self._added.clear()

    async def write(self, place: tuple[str, int], *values: list[str]) -> list[int]:
        """A batch of each, within the transaction. Their offsets, -1 where an answer named none."""
        await self.join(place)
        batches, sequence = [], self._sequences.get(place, 0)
        for some in values:
            batches.append(TransactionalBatch(some, sequence))
            sequence += len(some)
        version = 12 if self.second_protocol else 9
        writes = Writes(
            self._loop,
            self._client,
            place,
            batches,
            version=version,
            request_of=lambda batch: self._request(place, batch),
        )
        error = await writes.run()
        if error is None:
            raise TransactionGaveUp
        if error is not ErrorCode.NONE:
            if error is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or not writes.may_be_forgotten:
                self.expect_reason(error, f"wrote to {place[0]}-{place[1]}")
            raise TransactionGaveUp(error)
        self._sequences[place] = sequence
        self._has_written = True
        return [-1 if batch.offset is None else batch.offset for batch in batches]

    async def join(self, place: tuple[str, int]) -> None:
        """In the second protocol writing does it."""
        if not self.second_protocol and place not in self._added:
            await self._add(*place)
            self._added[place] = None

    async def _add(self, topic: str, index: int) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[index])],
        )
        await self._ask_with_reason(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            ADD_PARTITIONS_VERSION,
            request,
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
            f"added {topic}-{index}",
        )

    def _request(self, place: tuple[str, int], batch: TransactionalBatch) -> ProduceRequest:
        records = [
            Record(number, STAMP_MS, None, value.encode(), []) for number, value in enumerate(batch.values)
        ]
        data = write_batch(
            records,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=batch.sequence,
            transactional=True,
        )
        partition = PartitionProduceData(index=place[1], records=memoryview(data))
        named = TopicProduceData(name=place[0], partition_data=[partition])
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
        has_written, self._has_written = self._has_written, False
        if has_written:
            what = "committed" if commit else "aborted"
            answer: EndTxnResponse = await self._ask_with_reason(
                ApiKey.END_TXN, version, request, lambda a: a.error_code, what
            )
        else:  # a transaction that reached no partition cannot be ended in the first protocol
            answer = await self.ask_coordinator(ApiKey.END_TXN, version, request, lambda a: a.error_code)
        if self.second_protocol:
            self._take_identity(answer.producer_id, answer.producer_epoch)

    # Answers

    def expect_reason(self, error: ErrorCode, what: str) -> None:
        """It was refused for good: unless another client ended the transaction, that is wrong."""
        refusal = Refusal(self.transactional_id, self.identity, self.second_protocol, what, error)
        complaint = complaint_of(refusal, self._look_up(self.transactional_id))
        if complaint is not None:
            self.complaints.append(f"{self._client.name}: {complaint}")

    async def _ask_with_reason(
        self, api_key: ApiKey, version: int, request: Message, code_of: Any, what: str
    ) -> Any:
        try:
            return await self.ask_coordinator(api_key, version, request, code_of)
        except TransactionGaveUp as failure:
            if failure.error is not None:
                self.expect_reason(failure.error, what)
            raise

    # The coordinator

    async def ask_coordinator(self, api_key: ApiKey, version: int, request: Message, code_of: Any) -> Any:
        """Until a coordinator agrees; GaveUp where that takes too long or is refused."""
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
                raise TransactionGaveUp(code, maybe_done=maybe_done)
            maybe_done = maybe_done or code not in CERTAINLY_NOT_DONE
            if code in {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}:
                self._coordinator = None
            await self._client.pause()
        raise TransactionGaveUp

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

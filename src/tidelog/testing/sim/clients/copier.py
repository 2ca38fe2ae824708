"""Reads, writes a copy, and commits both its position and its output in one transaction: exactly once.

Each record of the source must have one copy at most, and exactly one where the committed position is past it.
"""

from collections import Counter
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import Completion, History, Operation, Read, Sent
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.testing.sim.clients.consumer import Place, SimConsumer
from tidelog.testing.sim.clients.transactional_client import LookUp, TransactionalClient, TransactionGaveUp
from tidelog.testing.sim.clients.transactional_writes import COME_BACK
from tidelog.testing.sim.clients.transactor import end_recorded
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

GROUP = "copiers"
COPY = "copy"
FIND_COORDINATOR_VERSION, OFFSET_FETCH_VERSION = 3, 7
BATCH_MAX = 5


class Copier:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        history: History,
        *,
        topics: dict[str, int],
        second_protocol: bool,
        look_up: LookUp,
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._sources = {name: count for name, count in topics.items() if name != COPY}
        self._transactions = TransactionalClient(
            loop, client, "copier", second_protocol=second_protocol, look_up=look_up
        )
        # What it reads goes into the history with its transactions, not by itself.
        self._seen = History()
        self._consumer = SimConsumer(
            loop, client, self._seen, self._sources, wait_ms=200, committed_only=True
        )
        self._group_coordinator: Address | None = None
        self._is_placed = False
        self._copies = 0
        self.is_stopping = False

    @property
    def complaints(self) -> list[str]:
        return [*self._consumer.complaints, *self._transactions.complaints]

    async def run(self) -> None:
        while not self.is_stopping:
            try:
                if not self._transactions.has_identity:
                    await self._transactions.begin()
                    self._is_placed = False
                if not self._is_placed:
                    await self._go_to_committed()
                await self._copy_some()
            except TransactionGaveUp:
                self._transactions.lose_identity()
                await self._client.pause()

    async def _copy_some(self) -> None:
        before = dict(self._consumer.positions)
        await self._consumer.poll()
        read = [one for operation in self._seen for one in operation.read]
        self._seen.operations.clear()
        if not read:
            return
        read, after = _first_few(read, before, self._consumer.positions)
        self._consumer.positions = after
        operation = self._history.add(
            Operation(
                self._client.name,
                "txn",
                Completion.INFO,
                started=self._loop.now,
                read=read,
                committed_only=True,
            )
        )
        wants_commit = self._client.chance.random() < 0.9
        try:
            await self._write_copies(operation, read)
            await self._commit_positions(after)
        except TransactionGaveUp as failure:
            operation.error = str(failure)
            wants_commit = False
        self._is_placed = wants_commit
        await end_recorded(self._transactions, operation, commit=wants_commit, loop=self._loop)
        if operation.error:
            # It is unknown which sequence numbers were used: only a new epoch begins them anew.
            self._transactions.lose_identity()

    async def _write_copies(self, operation: Operation, read: list[Read]) -> None:
        # Unique also where the same record is copied again after a transaction was taken back.
        self._copies += 1
        mark = f"{self._client.name}.{self._copies}"
        values = [f"{one.value}={mark}.{number}" for number, one in enumerate(read)]
        operation.sent = [Sent(f"{COPY}-0", value) for value in values]
        [offset] = await self._transactions.write((COPY, 0), values)
        if offset >= 0:
            for number, sent in enumerate(operation.sent):
                sent.offset = offset + number

    # Positions

    async def _go_to_committed(self) -> None:
        topics = [
            OffsetFetchRequestTopic(name=name, partition_indexes=list(range(count)))
            for name, count in self._sources.items()
        ]
        request = OffsetFetchRequest(group_id=GROUP, topics=topics, require_stable=True)
        answer = await self._ask_group(ApiKey.OFFSET_FETCH, OFFSET_FETCH_VERSION, request, _worst_of_fetch)
        self._consumer.positions = {
            (topic.name, one.partition_index): max(0, one.committed_offset)
            for topic in answer.topics
            for one in topic.partitions
        }
        self._is_placed = True
        now = self._loop.now
        self._history.add(Operation(self._client.name, "assign", started=now, ended=now))

    async def _commit_positions(self, positions: dict[Place, int]) -> None:
        await self._transactions.add_offsets(GROUP)
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (name, index), offset in positions.items():
            topics.setdefault(name, TxnOffsetCommitRequestTopic(name=name, partitions=[])).partitions.append(
                TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            )
        producer_id, epoch = self._transactions.identity
        request = TxnOffsetCommitRequest(
            transactional_id=self._transactions.transactional_id,
            group_id=GROUP,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=list(topics.values()),
        )
        version = 5 if self._transactions.second_protocol else 3
        try:
            await self._ask_group(ApiKey.TXN_OFFSET_COMMIT, version, request, _worst_of_commit)
        except TransactionGaveUp as failure:
            if failure.error is not None:
                self._transactions.expect_reason(failure.error, "committed offsets")
            raise

    async def _ask_group(self, api_key: ApiKey, version: int, request: Message, code_of: Any) -> Any:
        deadline = self._loop.now + 6.0
        while self._loop.now < deadline:
            try:
                if self._group_coordinator is None:
                    coordinator = await self._client.call_any(
                        ApiKey.FIND_COORDINATOR,
                        FIND_COORDINATOR_VERSION,
                        FindCoordinatorRequest(key=GROUP),
                        2.0,
                    )
                    if coordinator.error_code:
                        raise ConnectionError("no coordinator")
                    self._group_coordinator = coordinator.host, coordinator.port
                answer = await self._client.call(self._group_coordinator, api_key, version, request, 1.5)
            except OSError:
                self._group_coordinator = None
                await self._client.pause()
                continue
            code = ERRORS[code_of(answer)]
            if code is ErrorCode.NONE:
                return answer
            if code not in COME_BACK and code is not ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise TransactionGaveUp(code)
            if code in {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}:
                self._group_coordinator = None
            await self._client.pause()
        raise TransactionGaveUp


def copies_are_exact(source: list[Read], copies: list[Read]) -> list[str]:
    """`source` and `copies` as a last reader of committed data saw them, after the copier had caught up."""
    originals = Counter(one.value for one in source)  # a retry without idempotence may have written it twice
    made = Counter(copy.value.partition("=")[0] for copy in copies)
    return [
        f"{value} is {count} times in the source and {made[value]} times among the copies"
        for value, count in originals.items()
        if made[value] != count
    ]


def _first_few(
    read: list[Read], before: dict[Place, int], after: dict[Place, int]
) -> tuple[list[Read], dict[Place, int]]:
    """A small transaction is aborted more often, and there are more of them."""
    if len(read) <= BATCH_MAX:
        return read, dict(after)
    few = read[:BATCH_MAX]
    positions = dict(before)
    for one in few:
        name, _, index = one.partition.rpartition("-")
        positions[name, int(index)] = one.offset + 1
    return few, positions


def _worst_of_fetch(answer: Any) -> int:
    codes = [answer.error_code, *(one.error_code for topic in answer.topics for one in topic.partitions)]
    return next((code for code in codes if code), 0)


def _worst_of_commit(answer: Any) -> int:
    codes = [one.error_code for topic in answer.topics for one in topic.partitions]
    return next((code for code in codes if code), 0)

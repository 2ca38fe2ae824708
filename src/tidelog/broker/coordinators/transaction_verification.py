"""Asks coordinators, in the name of partition leaders, what is part of a transaction (KIP-890).

The first batch of a transaction waits for the answer, so questions that come up together share a request, and
a coordinator has one request of this broker at a time.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NodeId, ProducerId
from tidelog.broker.peers.silent import SilentPeers
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

AskCoordinator = Callable[[NodeId, AddPartitionsToTxnRequest], Awaitable[AddPartitionsToTxnResponse]]
"""To the broker with this id, which may be this one; OSError where no answer came."""

Verdicts = dict[TopicPartition, ErrorCode]

OWNERS_MAX = 100_000
"""Producer ids whose transactional id is remembered; beyond that all are asked for again."""

RETRIES = 5
RETRY_SECONDS = 0.02
"""While the markers of the transaction before are written, which is a matter of milliseconds."""

log = logging.getLogger("tidelog.broker.transactions")


class _Question:
    """What a producer asks about one transaction, and the requests that wait for the answer."""

    __slots__ = ("add", "partitions", "producer", "waiters")

    def __init__(self, producer: Identity, add: bool) -> None:
        self.producer = producer
        self.add = add
        self.partitions: dict[TopicPartition, None] = {}
        self.waiters: list[asyncio.Future[Verdicts]] = []


class _Turn:
    __slots__ = ("count", "lock")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.count = 0


class TransactionVerification:
    def __init__(self, coordinator_of: Callable[[str], NodeId | None], ask: AskCoordinator) -> None:
        self._coordinator_of = coordinator_of
        self._ask = ask
        self._waiting: dict[NodeId, dict[str, list[_Question]]] = {}
        self._under_way: dict[NodeId, asyncio.Task[None]] = {}
        self._turns: dict[ProducerId, _Turn] = {}
        self._owners: dict[ProducerId, str] = {}
        self._silent = SilentPeers(
            log,
            "broker %d does not verify transactions: %s; their producers will try again",
            "broker %d verifies transactions again",
        )

    def has_turn(self, producer_id: ProducerId) -> bool:
        """Whether a request of the producer is being verified, or waits for one that is."""
        return producer_id in self._turns

    @asynccontextmanager
    async def turn(self, producer_id: ProducerId) -> AsyncIterator[None]:
        """In the order of the calls, one after the other."""
        turn = self._turns.setdefault(producer_id, _Turn())
        turn.count += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.count -= 1
            if not turn.count:
                del self._turns[producer_id]

    def belongs_to(self, producer_id: ProducerId, transactional_id: str) -> bool:
        """Whether a coordinator has confirmed that it gave the producer id to this transactional id.

        It never gives one to two of them. False also where nobody has asked yet.
        """
        return self._owners.get(producer_id) == transactional_id

    async def verify(
        self, transactional_id: str, producer: Identity, partitions: Collection[TopicPartition], *, add: bool
    ) -> Verdicts:
        """Whether each partition is part of the producer's transaction; `add`: make it so."""
        for _ in range(RETRIES):
            verdicts = await self._once(transactional_id, producer, partitions, add)
            if not add or ErrorCode.CONCURRENT_TRANSACTIONS not in verdicts.values():
                break
            await asyncio.sleep(RETRY_SECONDS)
        if ErrorCode.NONE in verdicts.values():
            if len(self._owners) >= OWNERS_MAX:
                self._owners.clear()
            self._owners[producer.producer_id] = transactional_id
        return verdicts

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(
        self, transactional_id: str, producer: Identity, partitions: Collection[TopicPartition], add: bool
    ) -> Verdicts:
        coordinator = self._coordinator_of(transactional_id)
        if coordinator is None:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        questions = self._waiting.setdefault(coordinator, {}).setdefault(transactional_id, [])
        if not questions or (questions[-1].producer, questions[-1].add) != (producer, add):
            questions.append(_Question(producer, add))
        answer: asyncio.Future[Verdicts] = asyncio.get_running_loop().create_future()
        questions[-1].partitions.update(dict.fromkeys(partitions))
        questions[-1].waiters.append(answer)
        if coordinator not in self._under_way:
            loop = asyncio.get_running_loop()
            task = loop.create_task(self._talk(coordinator), name=f"verification with broker {coordinator}")
            self._under_way[coordinator] = task
        verdicts = await answer
        return {partition: verdicts[partition] for partition in partitions}

    async def _talk(self, coordinator: NodeId) -> None:
        """Ask until no question is left."""
        try:
            while waiting := self._waiting.get(coordinator):
                questions = {name: of.pop(0) for name, of in waiting.items()}
                self._waiting[coordinator] = {name: of for name, of in waiting.items() if of}
                await self._answer(coordinator, questions)
        finally:
            del self._under_way[coordinator]
            for of in self._waiting.pop(coordinator, {}).values():
                for question in of:
                    _answer_all(question, {})

    async def _answer(self, coordinator: NodeId, questions: dict[str, _Question]) -> None:
        verdicts: dict[str, Verdicts] = {}
        try:
            answer = await self._ask(coordinator, _request(questions))
            for result in answer.results_by_transaction:
                verdicts[result.transactional_id] = {
                    TopicPartition(topic.name, one.partition_index): ErrorCode.of(one.partition_error_code)
                    for topic in result.topic_results
                    for one in topic.results_by_partition
                }
        except OSError as error:
            self._silent.failed(coordinator, error)
        else:
            self._silent.answered(coordinator)
        finally:
            for name, question in questions.items():
                _answer_all(question, verdicts.get(name, {}))


def _answer_all(question: _Question, given: Verdicts) -> None:
    """A partition without a verdict may be asked for again."""
    verdicts = {one: given.get(one, ErrorCode.COORDINATOR_NOT_AVAILABLE) for one in question.partitions}
    for waiter in question.waiters:
        if not waiter.done():
            waiter.set_result(verdicts)


def _request(questions: dict[str, _Question]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=question.producer.producer_id,
                producer_epoch=question.producer.epoch,
                verify_only=not question.add,
                topics=_topics(question.partitions),
            )
            for name, question in questions.items()
        ]
    )


def _topics(partitions: Collection[TopicPartition]) -> list[AddPartitionsToTxnTopic]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()]


def error_for_writer(error: ErrorCode, *, knows_abortable: bool, adds: bool) -> ErrorCode:
    """Returns the error for a client that wants to write: one that it knows and handles correctly."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    if error in _TRY_AGAIN or (error is ErrorCode.CONCURRENT_TRANSACTIONS and not adds):
        return ErrorCode.NOT_ENOUGH_REPLICAS  # all clients try again after this error
    return error


_TRY_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

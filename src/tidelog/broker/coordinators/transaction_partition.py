"""One partition of `__transaction_state` at work: requests of producers, and completion by markers.

An answer that needs no record of its own waits until the records before it are committed: it may rest on
them, and the next coordinator must know everything that a producer was told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.coordination.decision import ShardDecision
from tidelog.replication.partition import Partition
from tidelog.transactions.marker import Marker
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import NeedsProducerId

AnswerT = TypeVar("AnswerT")
Decide = Callable[[ProducerId | None], ShardDecision[AnswerT]]
"""Called without a producer id, and again with one that was never used if it raises NeedsProducerId."""

RETRY_SECONDS = 0.5
MARKER_WAIT_SECONDS = 0.1
"""How long a request waits for the markers of the transaction before, which is a matter of milliseconds."""


class TransactionPartition:
    def __init__(
        self, served: ServedPartition[TransactionShard], take_id: Callable[[], Awaitable[ProducerId]]
    ) -> None:
        self._served = served
        self._take_id = take_id
        self._retries: set[asyncio.TimerHandle] = set()
        self._until_ended: dict[str, list[Callable[[], None]]] = {}

    @property
    def partition(self) -> Partition:
        return self._served.partition

    @property
    def shard(self) -> TransactionShard:
        return self._served.shard

    @property
    def now_ms(self) -> TimestampMs:
        return self._served.now[1]

    async def run(self, decide: Decide[AnswerT]) -> AnswerT:
        """Decide, write, and wait until the answer holds."""
        try:
            answer = self._decided(decide, None)
        except NeedsProducerId:
            spare_id = await self._take_id()  # KafkaError: the controller gave none
            answer = self._decided(decide, spare_id)
        return await answer

    async def run_next(self, transactional_id: str, decide: Decide[AnswerT]) -> AnswerT:
        """Like `run`, for a request that is refused while the transaction before it is being ended.

        The request waits a moment for that end, which is less than the pause its producer would make.
        """
        transaction = self.shard.transactions.get(transactional_id)
        if transaction is None or not transaction.is_ending:
            return await self.run(decide)
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[asyncio.Future[AnswerT]] = loop.create_future()

        def begin() -> None:
            if begun.done():  # it waited too long, or the producer has disconnected
                return
            try:
                begun.set_result(self._decided(decide, None))
            except Exception as error:
                begun.set_exception(error)

        self._until_ended.setdefault(transactional_id, []).append(begin)
        timer = loop.call_later(MARKER_WAIT_SECONDS, begin)
        try:
            return await (await begun)
        except NeedsProducerId:
            return await self.run(decide)
        finally:
            timer.cancel()

    async def when_committed(
        self, look: Callable[[], AnswerT], refused: Callable[[ErrorCode], AnswerT]
    ) -> AnswerT:
        """Look at the shard once everything it knows now is committed: no read tells what may be lost."""
        error = await self._in_order(ShardDecision.of(ErrorCode.NONE, lambda error: error))
        return look() if error is ErrorCode.NONE else refused(error)

    def complete(self, marker: Marker) -> None:
        """Every partition of the transaction has its marker."""
        if self._served.is_closed:
            return
        decision = self.shard.complete(marker, self.now_ms)
        if decision is not None:
            try:
                self._served.append([decision])  # no request waits for its commit
            except KafkaError:
                self._later(RETRY_SECONDS, lambda: self.complete(marker))
        # Before the loop turns: their records travel to the followers together with the one above.
        for begin in self._until_ended.pop(marker.transactional_id, ()):
            begin()
        self._served.finish_step()

    def close(self) -> None:
        """Another broker coordinates from now on. The partition itself answers requests that wait."""
        for retry in self._retries:
            retry.cancel()
        for waiting in self._until_ended.values():
            for begin in waiting:
                begin()

    def _decided(self, decide: Decide[AnswerT], spare_id: ProducerId | None) -> "asyncio.Future[AnswerT]":
        if self._served.is_closed:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._in_order(decide(spare_id))

    def _in_order(self, decision: ShardDecision[AnswerT]) -> "asyncio.Future[AnswerT]":
        answer = self._served.run_in_order(decision, lambda answer: answer)
        if isinstance(answer, asyncio.Future):
            return answer
        ready: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        ready.set_result(answer)
        return ready

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        def run() -> None:
            self._retries.discard(handle)
            action()

        handle = asyncio.get_running_loop().call_later(seconds, run)
        self._retries.add(handle)

"""One partition of `__transaction_state` at work: the way of a decision to the log and back to producers.

A decision's records are appended as one batch and applied in the same breath. Its answer goes out once the
batch is safe, and so do the markers that it leads to. An answer that needs no record of its own waits for
those before it: what it tells may be in them, and a new coordinator must know all that was told.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId
from tidelog.base.ports import Clock
from tidelog.replication.partition import Partition
from tidelog.transactions.marker import Marker, MarkersToWrite
from tidelog.transactions.outcome import Outcome, told
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import NeedsProducerId
from tidelog.wire.record import Record, write_batch

AnswerT = TypeVar("AnswerT")
Decide = Callable[[ProducerId | None], Outcome[AnswerT]]
"""Called with a producer id that nobody has used, once it asked for one."""

ANSWER_SECONDS = 5.0
"""After that the producer is told to try again; the decision stands, and may become safe later."""
RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 0.1
"""How long a request waits for the markers of the transaction before, which is a matter of milliseconds."""

log = logging.getLogger("tidelog.broker.transactions")


class TransactionPartition:
    def __init__(
        self,
        partition: Partition,
        shard: TransactionShard,
        clock: Clock,
        *,
        take_id: Callable[[], Awaitable[ProducerId]],
        write_markers: Callable[[int, list[MarkersToWrite]], None],
    ) -> None:
        """`write_markers` gets the number of this partition; `complete` is called when they are written."""
        self.partition = partition
        self.shard = shard
        self._clock = clock
        self._take_id = take_id
        self._write_markers = write_markers
        self._alarm: asyncio.TimerHandle | None = None
        self._retries: set[asyncio.TimerHandle] = set()
        self._until_ended: dict[str, list[Callable[[], None]]] = {}
        self._closed = False

    @property
    def now(self) -> tuple[float, int]:
        return self._clock.monotonic(), self._clock.now_ms()

    def start(self) -> None:
        """The shard is loaded: serve, and end what was decided and not ended everywhere."""
        self.shard.on_loaded(self.partition.leader_epoch, *self.now)
        self._settle()

    async def run(self, decide: Decide[AnswerT]) -> AnswerT:
        """Decide, write, and wait until the answer holds."""
        try:
            safe = self._decided(decide, None)
        except NeedsProducerId:
            spare_id = await self._take_id()  # KafkaError: the controller gave none
            safe = self._decided(decide, spare_id)
        return await safe

    async def run_next(self, transactional_id: str, decide: Decide[AnswerT]) -> AnswerT:
        """As `run`, for a request that would be refused while the transaction before is being ended.

        It waits a moment for that, which is less than the pause that its producer would make.
        """
        found = self.shard.transactions.get(transactional_id)
        if found is None or not found.is_ending:
            return await self.run(decide)
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[asyncio.Future[AnswerT]] = loop.create_future()

        def begin() -> None:
            if begun.done():  # its time is over, or the producer has gone
                return
            try:
                begun.set_result(self._decided(decide, None))
            except Exception as error:
                begun.set_exception(error)

        self._until_ended.setdefault(transactional_id, []).append(begin)
        timer = loop.call_later(PATIENCE_SECONDS, begin)
        try:
            return await (await begun)
        except NeedsProducerId:
            return await self.run(decide)
        finally:
            timer.cancel()

    def _decided(self, decide: Decide[AnswerT], spare_id: ProducerId | None) -> "asyncio.Future[AnswerT]":
        if self._closed:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._write(decide(spare_id))

    async def when_committed(
        self, look: Callable[[], AnswerT], refused: Callable[[ErrorCode], AnswerT]
    ) -> AnswerT:
        """Look at the shard once all that it knows by now is safe: nobody may read what could be lost."""
        error = await self._write(Outcome(ErrorCode.NONE, lambda code: code))
        return look() if error is ErrorCode.NONE else refused(error)

    def complete(self, marker: Marker) -> None:
        """Every partition of the transaction has its marker."""
        if self._closed:
            return
        outcome = self.shard.complete(marker, self._clock.now_ms())
        if outcome is not None and isinstance(self._append(outcome), KafkaError):
            self._later(RETRY_SECONDS, lambda: self.complete(marker))
        # In the same breath: what they write travels to the followers together with the end before it.
        for begin in self._until_ended.pop(marker.transactional_id, ()):
            begin()
        self._settle()

    def close(self) -> None:
        """Another broker coordinates from now on; those who wait are told by the partition itself."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for retry in self._retries:
            retry.cancel()
        for waiting in self._until_ended.values():
            for begin in waiting:
                begin()
        self.shard.unload()

    def _write(self, outcome: Outcome[AnswerT]) -> "asyncio.Future[AnswerT]":
        answer: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        committed_at = self._append(outcome)
        self._settle()
        if isinstance(committed_at, KafkaError):
            answer.set_result(outcome.refused(told(committed_at.code)))
            return answer
        timer: asyncio.TimerHandle | None = None

        def give(error: ErrorCode | None) -> None:
            if not answer.done():  # the producer may have gone meanwhile
                answer.set_result(outcome.answer if error is None else outcome.refused(told(error)))

        def done(error: KafkaError | None) -> None:
            if timer is not None:
                timer.cancel()
            if error is None and not self._closed:
                self.shard.release(outcome)
                self._settle()
            give(None if error is None else error.code)

        try:
            if self.partition.when_committed(committed_at, done):
                done(None)
            else:
                loop = asyncio.get_running_loop()
                timer = loop.call_later(ANSWER_SECONDS, give, ErrorCode.REQUEST_TIMED_OUT)
        except KafkaError as error:
            give(error.code)
        return answer

    def _append(self, outcome: Outcome[Any]) -> "int | KafkaError":
        """The offset below which all must be safe for the answer to hold."""
        if not outcome.records:
            return self.partition.log.end
        now, now_ms = self.now
        records = [Record(n, now_ms, key, value) for n, (key, value) in enumerate(outcome.records)]
        try:
            produced = self.partition.append_own(write_batch(records), now_ms=now_ms)
        except KafkaError as error:
            log.error("transactions of %r cannot be written: %s", self.partition, error.message)
            return error
        self.shard.apply(outcome, now, now_ms)
        return produced.committed_at

    def _settle(self) -> None:
        """Hand on the markers that are due, log what the shard has to say, set the alarm."""
        for note in self.shard.take_notes():
            log.info("%s", note)
        if markers := self.shard.take_markers():
            self._write_markers(self.partition.index, markers)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self.shard.next_deadline
        if deadline is not None and not self._closed:
            delay = max(0.0, deadline - self._clock.monotonic())
            self._alarm = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._alarm = None
        while (outcome := self.shard.tick(*self.now)) is not None:
            self._write(outcome)
        self._settle()

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        def run() -> None:
            self._retries.discard(handle)
            action()

        handle = asyncio.get_running_loop().call_later(seconds, run)
        self._retries.add(handle)

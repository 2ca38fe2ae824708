"""One partition of a coordinator's topic at work: takes decisions to the log, and answers back to clients.

The records of a decision are appended as one batch and applied before anything else runs. Its answer goes out
once the batch is committed.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.pending import Pending
from tidelog.base.ports import Clock
from tidelog.coordination.append_errors import client_error
from tidelog.coordination.decision import ShardDecision, StateRecord, TransactionWriter
from tidelog.coordination.shard import Shard
from tidelog.replication.acks_waiters import Done
from tidelog.replication.partition import Partition
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record, write_batch

AnswerT = TypeVar("AnswerT")
ResponseT = TypeVar("ResponseT")
ShardT = TypeVar("ShardT", bound=Shard)

GATHERED_BYTES_MAX = 512 * 1024
"""Of keys and values in one batch of gathered decisions: half of what a topic accepts as a batch."""


class ServedPartition(Generic[ShardT]):
    def __init__(
        self,
        partition: Partition,
        shard: ShardT,
        clock: Clock,
        *,
        log: logging.Logger,
        answer_seconds: Callable[[], float],
        after_step: "Callable[[ServedPartition[ShardT]], None]" = lambda served: None,
        on_appended: Callable[[ShardT, Offset], None] | None = None,
    ) -> None:
        self.partition = partition
        self._shard = shard
        self._clock = clock
        self._log = log
        self._answer_seconds = answer_seconds
        self._after_step = after_step
        self._on_appended = on_appended
        self._gathered: list[ShardDecision[Any]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0
        self._closed = False

    @property
    def shard(self) -> ShardT:
        """For one call. Gathered decisions are written first, so that the next decision sees them."""
        self._write_gathered()
        return self._shard

    @property
    def shard_as_written(self) -> ShardT:
        """To read from alone: what is gathered stays so, and is missing."""
        return self._shard

    @property
    def now(self) -> tuple[float, TimestampMs]:
        """The two times that calls into the shard take: monotonic seconds, wall clock milliseconds."""
        return self._clock.monotonic(), self._clock.now_ms()

    @property
    def is_closed(self) -> bool:
        return self._closed

    def start(self) -> None:
        """The shard is loaded: serve, and start its timers."""
        self.write_all(self._shard.on_loaded(*self.now))

    def run(
        self,
        decision: ShardDecision[AnswerT],
        translate: Callable[[AnswerT], ResponseT],
        guard: VerificationGuard | None = None,
    ) -> "asyncio.Future[ResponseT]":
        """Write a decision. The future is resolved once it is committed and its answer is there.

        `guard`: under which the transaction coordinator said that this partition is part of the transaction.
        """
        future = _answered(decision.answer, translate)
        self._write([decision], guard)
        self.finish_step()
        return future

    def run_in_order(
        self, decision: ShardDecision[AnswerT], translate: Callable[[AnswerT], ResponseT]
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        """Like `run`, for an answer that tells state.

        Without records of its own it waits until the records before it are committed: the answer may rest on
        them, and the next coordinator must know everything that a client was told.
        """
        if decision.records or not decision.has_answer:
            return self.run(decision, translate)
        self.finish_step()
        self._wait([decision], self.partition.log.end)
        answer = decision.answer
        return translate(answer.answer) if answer.done else _answered(answer, translate)

    def gather(
        self, decide: Callable[[ShardT], ShardDecision[AnswerT]], translate: Callable[[AnswerT], ResponseT]
    ) -> "asyncio.Future[ResponseT]":
        """Like `run`, for decisions that depend on no other: those of one turn of the loop share a batch."""
        decision = decide(self._shard)
        future = _answered(decision.answer, translate)
        if not decision.records:
            decision.release(*self.now)
            return future
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._end_gathering)
        self._gathered.append(decision)
        return future

    def write_all(self, decisions: Iterable[ShardDecision[None]]) -> None:
        """Write decisions that no client waits for, in order."""
        for decision in decisions:
            self._write([decision])
        self.finish_step()

    def append(
        self, decisions: Sequence[ShardDecision[Any]], guard: VerificationGuard | None = None
    ) -> Offset | None:
        """Append the records of all decisions as one batch, and apply them.

        Returns the offset that the high watermark has to reach for them to be committed; None if there are no
        records. KafkaError: nothing was appended, and nothing has changed. A decision that is part of a
        transaction comes alone.
        """
        now, now_ms = self.now
        records = [record for decision in decisions for record in decision.records]
        if not records:
            return None
        writer = decisions[0].writer
        batch = _batch(records, writer, now_ms)
        try:
            if writer is not None:
                self.partition.log.producer_state.check_verified(read_header(batch), guard)
            produced = self.partition.append_own(batch, now_ms=now_ms)
        except KafkaError as error:
            level = logging.ERROR if writer is None else logging.INFO  # a zombie producer is no error here
            self._log.log(level, "%r cannot append to its log: %s", self.partition, error.message)
            raise
        if self._on_appended is not None:
            self._on_appended(self._shard, produced.base_offset)
        for decision in decisions:
            self._shard.apply(decision, now, now_ms)
        return produced.committed_at

    def when_committed(
        self, look: Callable[[], ResponseT], refused: Callable[[ErrorCode], ResponseT]
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        """Look at the shard once everything that it knows now is committed."""
        return self._look(self.partition.when_committed, look, refused)

    def when_replicated(
        self, look: Callable[[], ResponseT], refused: Callable[[ErrorCode], ResponseT]
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        """Look at the shard once every in-sync replica has everything that the shard knows now.

        Unlike `when_committed`, this serves reads also while too few replicas are in sync to commit more.
        """
        return self._look(self.partition.when_replicated, look, refused)

    def finish_step(self) -> None:
        """After each change of the shard: log its notes, send what it wants to send, arm its timer."""
        for note in self._shard.take_notes():
            self._log.info("%s", note)
        self._after_step(self)
        deadline = self._shard.next_deadline
        timer = self._timer
        if timer is not None:
            if deadline is not None and deadline >= self._rings_at and not self._closed:
                return  # nothing is due when it rings, and it is set anew then: cheaper than with each step
            timer.cancel()
            self._timer = None
        if deadline is not None and not self._closed:
            self._rings_at = deadline
            delay = max(0.0, deadline - self._clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def complete(self, decisions: Sequence[ShardDecision[Any]], error: KafkaError | None) -> None:
        """The records of decisions are committed, or failed to be."""
        now, now_ms = self.now
        for decision in decisions:
            if error is None:
                decision.release(now, now_ms)
            else:
                decision.fail(client_error(error.code), now, now_ms)

    def close(self) -> None:
        """Another broker coordinates from now on, or none: the shard answers its waiting clients."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._write_gathered()
        self._closed = True
        self._shard.unload()

    def _tick(self) -> None:
        self._timer = None
        self._write_gathered()
        # One time for all: a timer that starts again meanwhile gets its turn after the event loop's.
        now, now_ms = self.now
        while (decision := self._shard.tick(now, now_ms)) is not None:
            self._write([decision])
        self.finish_step()

    def _end_gathering(self) -> None:
        if self._gathered:
            self._write_gathered()
            self.finish_step()

    def _write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if len(gathered) == 1:
            self._write(gathered)
            return
        for decisions in _in_batches(gathered):
            self._write(decisions)

    def _write(self, decisions: Sequence[ShardDecision[Any]], guard: VerificationGuard | None = None) -> None:
        try:
            end = self.append(decisions, guard)
        except KafkaError as error:
            self.complete(decisions, error)
            return
        if end is None:
            self.complete(decisions, None)
        else:
            self._wait(decisions, end)

    def _wait(self, decisions: Sequence[ShardDecision[Any]], end: Offset) -> None:
        wait = _CommitWait(self, decisions)
        try:
            is_committed = self.partition.when_committed(end, wait.done)
        except KafkaError as error:
            self.complete(decisions, error)
            return
        if is_committed:
            self.complete(decisions, None)
        else:
            wait.limit(self._answer_seconds())

    def _look(
        self,
        when: Callable[[Offset, Done], bool],
        look: Callable[[], ResponseT],
        refused: Callable[[ErrorCode], ResponseT],
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        self._write_gathered()
        future: asyncio.Future[ResponseT] = asyncio.get_running_loop().create_future()

        def done(error: KafkaError | None) -> None:
            if not future.done():
                future.set_result(look() if error is None else refused(client_error(error.code)))

        try:
            return look() if when(self.partition.log.end, done) else future
        except KafkaError as error:
            return refused(client_error(error.code))


class _CommitWait:
    """Decisions that wait for the high watermark."""

    __slots__ = ("_decisions", "_served", "_timer")

    def __init__(self, served: ServedPartition[Any], decisions: Sequence[ShardDecision[Any]]) -> None:
        self._served = served
        self._decisions = decisions
        self._timer: asyncio.TimerHandle | None = None

    def limit(self, seconds: float) -> None:
        """Tell clients to try again after that. The records stand, and their effects come when committed."""
        late = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.done, late)

    def done(self, error: KafkaError | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._served.complete(self._decisions, error)
        self._served.finish_step()


def _answered(
    answer: Pending[AnswerT], translate: Callable[[AnswerT], ResponseT]
) -> "asyncio.Future[ResponseT]":
    future: asyncio.Future[ResponseT] = asyncio.get_running_loop().create_future()

    def give(given: AnswerT) -> None:
        if not future.done():  # the client may have disconnected meanwhile
            future.set_result(translate(given))

    answer.on_done(give)
    return future


def _in_batches(gathered: Sequence[ShardDecision[Any]]) -> Iterator[list[ShardDecision[Any]]]:
    """Splits decisions that share a batch where it would become large."""
    batch: list[ShardDecision[Any]] = []
    size = 0
    for decision in gathered:
        decision_bytes = sum(len(key) + len(value or b"") for key, value in decision.records)
        if batch and size + decision_bytes > GATHERED_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(decision)
        size += decision_bytes
    if batch:
        yield batch


def _batch(
    records: Sequence[StateRecord], writer: TransactionWriter | None, now_ms: TimestampMs
) -> bytearray:
    written = [Record(n, now_ms, key, value) for n, (key, value) in enumerate(records)]
    if writer is None:
        return write_batch(written)
    return write_batch(
        written, producer_id=writer.producer_id, producer_epoch=writer.epoch, transactional=True
    )

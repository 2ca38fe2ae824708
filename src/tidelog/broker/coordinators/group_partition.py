"""One partition of `__consumer_offsets` at work: the way of a group decision to the log and back to clients.

A decision's records are appended as one batch and applied in the same breath; its answers go out once the
batch is safe. Commits that arrive in one turn of the loop share a batch.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Clock
from tidelog.groups.offsets.commit import CommitAnswer
from tidelog.groups.offsets.messages import CommitRequest
from tidelog.groups.offsets.transactional_commit import TransactionalCommit
from tidelog.groups.outcome import OffsetsRecord, Outcome, Writer, told_after_failure
from tidelog.groups.shard import GroupShard
from tidelog.replication.partition import Partition, Produced
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.batch import read_header
from tidelog.wire.record import ControlType, Record, read_control, write_batch

AnswerT = TypeVar("AnswerT")
ResponseT = TypeVar("ResponseT")

log = logging.getLogger("tidelog.broker.groups")


class GroupPartition:
    def __init__(
        self, partition: Partition, shard: GroupShard, clock: Clock, commit_timeout_ms: Callable[[], int]
    ) -> None:
        self.partition = partition
        self._shard = shard
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._commits: list[Outcome[Any]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def shard(self) -> GroupShard:
        """For one call; gathered commits go first, since what is decided next must know of them."""
        self._write_commits()
        return self._shard

    @property
    def now(self) -> tuple[float, int]:
        """What every call into the shard wants to know: (monotonic seconds, wall clock milliseconds)."""
        return self._clock.monotonic(), self._clock.now_ms()

    def start(self) -> None:
        """The shard is loaded: serve, and let sessions run."""
        for outcome in self._shard.on_loaded(*self.now):
            self._write([outcome])
        self.settle()

    def run(
        self, outcome: Outcome[AnswerT], translate: Callable[[AnswerT], ResponseT]
    ) -> "asyncio.Future[ResponseT]":
        """Write what was decided; the future is answered when it is safe and all it waits for has come."""
        future = _answered(outcome, translate)
        self._write([outcome])
        self.settle()
        return future

    def run_in_order(
        self,
        outcome: Outcome[AnswerT],
        translate: Callable[[AnswerT], ResponseT],
        refusal: Callable[[ErrorCode], AnswerT],
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        """Like `run`, for answers that tell what a member may own.

        One that needs no record of its own waits for those before it: what it tells may be in them, and a new
        coordinator must know all that was told.
        """
        if outcome.records or not outcome.answer.done:
            return self.run(outcome, translate)
        self.settle()
        future: asyncio.Future[ResponseT] = asyncio.get_running_loop().create_future()

        def done(error: KafkaError | None) -> None:
            if not future.done():
                answer = outcome.answer.answer if error is None else refusal(told_after_failure(error.code))
                future.set_result(translate(answer))

        try:
            if self.partition.when_committed(self.partition.log.end, done):
                return translate(outcome.answer.answer)
        except KafkaError as error:
            return translate(refusal(told_after_failure(error.code)))
        return future

    def commit(
        self, request: CommitRequest, translate: Callable[[CommitAnswer], ResponseT]
    ) -> "asyncio.Future[ResponseT]":
        """Those of one turn of the loop are written together: no commit depends on another one."""
        outcome = self._shard.commit(request, self._clock.monotonic(), self._clock.now_ms())
        future = _answered(outcome, translate)
        if outcome.records:
            if not self._commits:
                asyncio.get_running_loop().call_soon(self._write_commits)
            self._commits.append(outcome)
        return future

    def commit_in_transaction(
        self,
        request: TransactionalCommit,
        guard: VerificationGuard | None,
        translate: Callable[[CommitAnswer], ResponseT],
    ) -> "asyncio.Future[ResponseT]":
        """`guard`: under which the coordinator said that this partition is part of the transaction."""
        outcome = self.shard.commit_in_transaction(request, *self.now)
        future = _answered(outcome, translate)
        self._write([outcome], guard)
        self.settle()
        return future

    def append_marker(self, marker: bytearray) -> Produced:
        """A transaction is over: what was committed within it counts from now on, or never did."""
        self._write_commits()
        header, control = read_header(marker), read_control(marker)
        produced = self.partition.append_own(marker, now_ms=self._clock.now_ms())
        is_commit = control is not None and control.type == ControlType.COMMIT
        self._shard.end_transaction(header.producer_id, is_commit)
        return produced

    def write_all(self, outcomes: Sequence[Outcome[None]]) -> None:
        """What nobody waits for, in order."""
        for outcome in outcomes:
            self._write([outcome])
        self.settle()

    def when_committed(
        self, look: Callable[[], ResponseT], refusal: Callable[[ErrorCode], ResponseT]
    ) -> "ResponseT | asyncio.Future[ResponseT]":
        """Look at the shard once all that it knows by now is on every replica that is in sync."""
        self._write_commits()
        future: asyncio.Future[ResponseT] = asyncio.get_running_loop().create_future()

        def done(error: KafkaError | None) -> None:
            if not future.done():
                future.set_result(look() if error is None else refusal(told_after_failure(error.code)))

        try:
            return look() if self.partition.when_replicated(self.partition.log.end, done) else future
        except KafkaError as error:
            return refusal(told_after_failure(error.code))

    def settle(self) -> None:
        """Set the alarm for the next deadline, and log what the shard has to say."""
        for note in self._shard.take_notes():
            log.info("%s", note)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self._shard.next_deadline
        if deadline is not None and not self._closed:
            delay = max(0.0, deadline - self._clock.monotonic())
            self._alarm = asyncio.get_running_loop().call_later(delay, self._tick)

    def close(self, error: ErrorCode) -> None:
        """Tell all who wait; the shard is of no use after that."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._write_commits()
        self._closed = True
        self._shard.unload(error)

    def _tick(self) -> None:
        self._alarm = None
        self.write_all(self.shard.tick(*self.now))

    def _write_commits(self) -> None:
        commits, self._commits = self._commits, []
        if commits:
            self._write(commits)

    def _write(self, outcomes: Sequence[Outcome[Any]], guard: VerificationGuard | None = None) -> None:
        """One that is part of a transaction comes alone."""
        now_ms = self._clock.now_ms()
        pairs = [record for outcome in outcomes for record in outcome.records]
        if not pairs:
            return
        batch = _batch(pairs, outcomes[0].writer, now_ms)
        try:
            if outcomes[0].writer is not None:
                self.partition.log.producer_state.check_verified(read_header(batch), guard)
            produced = self.partition.append_own(batch, now_ms=now_ms)
        except KafkaError as error:
            level = logging.ERROR if outcomes[0].writer is None else logging.INFO  # a zombie is no error here
            log.log(level, "groups of %r cannot be written: %s", self.partition, error.message)
            self._fail(outcomes, error)
            return
        for outcome in outcomes:
            self._shard.apply(outcome, now_ms)
        wait = _Wait(self, outcomes)
        if self.partition.when_committed(produced.committed_at, wait.done):
            self._release(outcomes)
        else:
            wait.limit(self._commit_timeout_ms() / 1000)

    def _release(self, outcomes: Sequence[Outcome[Any]]) -> None:
        for outcome in outcomes:
            self._shard.release(outcome, *self.now)

    def _fail(self, outcomes: Sequence[Outcome[Any]], error: KafkaError) -> None:
        for outcome in outcomes:
            self._shard.fail(outcome, error.code, *self.now)

    def finish(self, outcomes: Sequence[Outcome[Any]], error: KafkaError | None) -> None:
        if error is None:
            self._release(outcomes)
        else:
            self._fail(outcomes, error)
        self.settle()


class _Wait:
    """Outcomes whose batch is written and not safe yet."""

    __slots__ = ("_home", "_outcomes", "_timer", "done")

    def __init__(self, home: GroupPartition, outcomes: Sequence[Outcome[Any]]) -> None:
        self._home = home
        self._outcomes = outcomes
        self._timer: asyncio.TimerHandle | None = None
        self.done: Callable[[KafkaError | None], None] = self._done  # bound once: `forget` compares identity

    def limit(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._too_late)

    def _done(self, error: KafkaError | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._home.finish(self._outcomes, error)

    def _too_late(self) -> None:
        self._home.partition.forget(self.done)
        self._home.finish(self._outcomes, KafkaError(ErrorCode.REQUEST_TIMED_OUT))


def _batch(pairs: Sequence[OffsetsRecord], writer: Writer | None, now_ms: int) -> bytearray:
    records = [Record(n, now_ms, key, value) for n, (key, value) in enumerate(pairs)]
    if writer is None:
        return write_batch(records)
    return write_batch(
        records, producer_id=writer.producer_id, producer_epoch=writer.epoch, transactional=True
    )


def _answered(
    outcome: Outcome[AnswerT], translate: Callable[[AnswerT], ResponseT]
) -> "asyncio.Future[ResponseT]":
    future: asyncio.Future[ResponseT] = asyncio.get_running_loop().create_future()

    def answer(given: AnswerT) -> None:
        if not future.done():  # the client may have gone meanwhile
            future.set_result(translate(given))

    outcome.answer.on_done(answer)
    return future

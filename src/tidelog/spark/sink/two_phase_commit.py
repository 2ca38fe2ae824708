"""The driver's part of an exactly-once write: takes over the tasks' transactions, decides, and ends them.

Theory: many transactions, one decision
=======================================

A micro-batch is written by many tasks, and a transaction belongs to one producer: sequence numbers count
per producer and partition, so tasks that share partitions cannot share a transaction. Each task therefore
writes in one of its own and leaves it open. When all are done the driver has, say, three open transactions
and wants all three committed or all three aborted, although it may die between any two lines of code, be
taken for dead when it is only slow, and meet its own successor.

What can go wrong
-----------------
    commits t1, commits t2, dies              t3 times out and is aborted: a third of the batch is missing
    commits all, dies before Spark notes it   Spark replays the batch: every row is there twice
    is slow; Spark starts a second driver     both decide: one commits what the other has aborted
    decides, is away for 20 minutes, commits  the coordinator's timeout has aborted what was decided

The rule
--------
The decision is one record, the *intent*: "batch 7 of query q is committed, and these are its transactions".
The steps are in `commit`, in this order:

1. *Hold.* Take the query's own transactional id with a new epoch. That fences every other driver of the
   query. Then read the last intent.
2. *Prepare.* Take over each task's transaction (KIP-939): a new epoch, so that its task can add nothing,
   and no timeout. Refuse the batch if one of them is over already.
3. *Decide.* Write the intent in a transaction of the held id, read the log once more up to the intent, and
   commit. This is the point of no return.
4. *Finish.* Commit each transaction that the intent names. May be repeated any number of times.
5. *Sweep.* Abort what is open under the query's ids and in no intent: rests of attempts that failed.

A replay that finds an intent for its batch begins at step 4, and its tasks write nothing. An abort by Spark
asks the same question first: what was decided is finished, not aborted.

Why this is enough
------------------
*Before the intent nothing counts*: no task commits, so a crash in steps 1 to 3 leaves open transactions
that step 5 of the next attempt aborts. *After it everything counts*: the intent says by name and epoch what
to commit, and to commit is idempotent. Between the two lies one commit of one record, which the transaction
coordinator makes atomic. What is left to show is that a decided transaction cannot get lost, and that two
drivers cannot decide differently:

- *Timeout*: a prepared transaction has none. Without two-phase commit in the cluster this does not hold,
  and a driver that comes back too late says so (`BatchLost`) instead of passing over it.
- *Another task*: an id belongs to one process by a file lock, and a process never begins where a
  transaction is open.
- *A sweep*: it aborts only what was open, by those very writers, while the query's id was held, which is
  before the holder decided. What a successor's tasks write is begun later and is not on that list.
- *A second driver*: the newest holder has fenced all before; their intents can no longer be committed. It
  has read all intents that were committed, since reading comes after fencing. The second look, in step 3,
  is for the case that the first was answered by a deposed leader: the intent itself went to its successor,
  so a log that shows the intent shows everything before it.
- *A driver that was thought dead* may still take over a transaction that its successor has decided. It
  cannot end it, and the successor's step 4 takes it back.

    driver A, epoch 3      driver B, epoch 4
    hold
    prepare t1, t2
    (a long pause)         hold; reads that there is no intent; lists t1 and t2 as left open
                           prepare t3, t4; decide; finish; sweep: aborts t1 and t2
    decide: fenced, so nothing of it counts

The rows of a batch become visible task by task, within milliseconds: all of them, but not at one instant.

`tests/spark/test_two_phase_commit.py` stops a driver after each step, the replay too, and lets it go on as a
driver that was thought dead; `tests/spark/test_sink_exactly_once.py` kills real processes at the same
places, and counts rows. docs/adr/0009 compares this with what else was considered.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, TidelogError
from tidelog.blocking.cluster import Cluster
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.blocking.transactions import ENDING, ONGOING, OVER, PREPARE_COMMIT, TransactionCalls
from tidelog.spark.sink.intent_log import TOPIC, HeldIntents, IntentLog
from tidelog.spark.sink.intents import (
    Course,
    Intent,
    Participant,
    lost_batch,
    plan_abort,
    plan_commit,
    strays,
)
from tidelog.spark.sink.transactional_ids import PREFIX, is_of_query, query_prefix

VISIBLE_SECONDS = 10.0
"""How long a commit waits until its markers are written, so that its rows can be read when it returns."""
PAUSE_SECONDS = 0.005
TAKEN_BACK_MAX = 3

log = logging.getLogger("tidelog.spark.sink")


class WriteFailed(TidelogError):
    """The batch is not in the output; a replay may write it."""


class BatchLost(TidelogError):
    """The batch was decided, and part of it can no longer be committed."""


class OtherRunIsAhead(TidelogError):
    """The cluster knows a later batch of this query than Spark does."""


@dataclass(frozen=True)
class TwoPhaseCommitSettings:
    prefix: str = PREFIX
    topic: str = TOPIC
    timeout_ms: int = 900_000
    skip_lost: bool = False


class Batch(NamedTuple):
    query: str
    number: int
    may_be_passed: bool = False
    """A batch that comes after a later one was written already, as users number their own, is no mistake."""

    def __str__(self) -> str:
        return f"batch {self.number} of query {self.query}"


class TwoPhaseCommit:
    def __init__(self, cluster: Cluster, settings: TwoPhaseCommitSettings) -> None:
        self.settings = settings
        self._calls = TransactionCalls(cluster)
        self._intents = IntentLog(cluster, settings.prefix, settings.topic)

    def commit(self, batch: Batch, written: Sequence[Participant], *, has_skipped: bool = False) -> None:
        """`has_skipped`: tasks wrote nothing, since they saw that the batch was decided before."""
        held = self.hold(batch)
        decided = held.find()
        plan = plan_commit(decided, batch.number, written)
        left = self.left_open(held, batch.query, written)
        if plan.course is Course.DECIDE:
            if has_skipped:
                raise WriteFailed(f"the intent for {batch} was there when tasks looked for it, and is gone")
            self.finish_earlier(decided)
            decided = self.prepare(batch, written)
            self.decide(held, decided)
        if decided is not None:
            self.finish(decided)
        self.abort_all(plan.abort)
        self.sweep(batch.query, left, decided)
        if plan.course is Course.PASSED and not batch.may_be_passed:
            raise OtherRunIsAhead(
                f"{batch} is to be written, but batch {decided and decided.batch} was written already: "
                "the checkpoint is older than the output, or another run of the query is in progress"
            )

    def abort(self, batch: Batch, written: Sequence[Participant]) -> None:
        held = self.hold(batch)
        decided = held.find()
        plan = plan_abort(decided, batch.number, written)
        left = self.left_open(held, batch.query, written)
        if plan.course is not Course.DECIDE and decided is not None:
            self.finish(decided)
        self.abort_all(plan.abort)
        self.sweep(batch.query, left, decided)

    # The steps, each safe to repeat

    def hold(self, batch: Batch) -> HeldIntents:
        """Fences every other driver of the query."""
        return self._intents.hold(batch.query)

    def left_open(
        self, held: HeldIntents, query: str, written: Sequence[Participant]
    ) -> dict[str, ProducerIdentity]:
        """What is open under the query's ids and not of this attempt, while the intents are ours: a driver
        that was thought dead must not take what its successor writes for something that was left."""
        known = {one.id for one in written}
        states = {id: state for id, state in self._under_way(query).items() if id not in known}
        found = self._open_among(states)
        return found if found and held.is_held() else {}

    def prepare(self, batch: Batch, written: Sequence[Participant]) -> Intent:
        """From here on no task adds to the transactions, and where the cluster can, no timeout ends them."""
        taken = [self._take_over(one) for one in written]
        for one, ours in zip(written, taken, strict=True):
            if ours is None:
                self.check_open(one)
        # Where brokers differ, as while they are restarted, each is ended by its current owner.
        participants = tuple(ours or one for one, ours in zip(written, taken, strict=True))
        return Intent(batch.query, batch.number, participants, is_prepared=None not in taken)

    def decide(self, held: HeldIntents, intent: Intent) -> None:
        """The point of no return."""
        held.write(intent)

    def finish(self, intent: Intent) -> None:
        """Commits what the intent names, in whatever state an earlier try has left it."""
        codes = [(one, self._committed(one, intent)) for one in intent.participants]
        lost = [one for one, code in codes if code is not ErrorCode.NONE]
        if not lost:
            return
        fenced = [one for one, code in codes if code in OVER and code is not ErrorCode.INVALID_TXN_STATE]
        if intent.is_prepared and len(fenced) == len(lost):
            return  # a prepared one ends by a commit alone; its id has been used again since
        if not self.settings.skip_lost:
            raise BatchLost(lost_batch(intent, lost))
        log.warning("continues: %s", lost_batch(intent, lost))

    def _committed(self, one: Participant, intent: Intent) -> ErrorCode:
        code = self._calls.end(one.id, one.ender, commit=True)
        for _ in range(TAKEN_BACK_MAX):
            if code is ErrorCode.NONE or not intent.is_prepared:
                break
            # Fenced and still open: a driver that was thought dead took it for its own, by its id.
            taken = self._calls.take_over(one.id) if self._calls.is_open(one.id, one.writer) else None
            if taken is None or taken[1] != one.writer:
                break
            code = self._calls.end(one.id, taken[0], commit=True)
        return code

    def finish_earlier(self, decided: Intent | None) -> None:
        """A batch before this one that was decided and not ended: Spark would have replayed it, but users
        who number their own may go on to the next."""
        if decided is None:
            return
        open_ = self._open_among(self._under_way(decided.query))
        if any(open_.get(one.id) == one.writer for one in decided.participants):
            self.finish(decided)

    def abort_all(self, written: Sequence[Participant]) -> None:
        for one in written:
            if self._calls.end(one.id, one.ender, commit=False) is not ErrorCode.NONE:
                self._calls.abort_open(one.id, one.writer, self.settings.timeout_ms)

    def abort_open(self, query: str) -> None:
        """All that is open under the query's ids, from any driver."""
        for id, writer in self._open_among(self._under_way(query)).items():
            self._calls.abort_open(id, writer, self.settings.timeout_ms)

    def sweep(self, query: str, left: Mapping[str, ProducerIdentity], decided: Intent | None) -> None:
        """Aborts what other attempts left open, and waits until the commit can be seen."""
        for id, writer in strays(left, decided):
            log.info("aborting the transaction that another attempt left open under %s", id)
            self._calls.abort_open(id, writer, self.settings.timeout_ms)
        deadline = time.monotonic() + VISIBLE_SECONDS
        while PREPARE_COMMIT in self._under_way(query).values() and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)

    def _under_way(self, query: str) -> dict[str, str]:
        prefix = self.settings.prefix
        found = self._calls.under_way(query_prefix(prefix, query))
        return {id: state for id, state in found.items() if is_of_query(id, prefix, query)}

    def _open_among(self, states: Mapping[str, str]) -> dict[str, ProducerIdentity]:
        found = {id: self._calls.describe(id) for id, state in states.items() if state == ONGOING}
        return {id: each.writer for id, each in found.items() if each is not None and each.state == ONGOING}

    def await_markers(self, written: Sequence[Participant]) -> None:
        deadline = time.monotonic() + VISIBLE_SECONDS
        for one in written:
            while (found := self._calls.describe(one.id)) is not None and found.state in ENDING:
                if time.monotonic() > deadline:
                    return
                time.sleep(PAUSE_SECONDS)

    def _take_over(self, one: Participant) -> Participant | None:
        answer = self._calls.take_over(one.id)
        if answer is None:
            return None
        ours, writer = answer
        if writer != one.writer:
            raise WriteFailed(
                f"the transaction of {one.id} is over before it was committed: it took longer than "
                "kafka.transaction.timeout.ms, or another run of the query aborted it"
            )
        return Participant(one.id, writer, ours)

    def check_open(self, one: Participant) -> None:
        """WriteFailed unless the transaction can still be committed."""
        found = self._calls.describe(one.id)
        if found is None or found.state != ONGOING or found.writer != one.writer:
            state = "forgotten" if found is None else found.state
            raise WriteFailed(
                f"the transaction of {one.id} cannot be committed, it is {state}: it took longer than "
                "kafka.transaction.timeout.ms, or another run of the query aborted it"
            )

"""The log of one shard in memory, written as the coordinator runtime writes it: for tests of pure shards."""

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Generic, TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import TimestampMs
from tidelog.base.pending import Pending
from tidelog.coordination.append_errors import client_error
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.coordination.shard import Shard

ShardT = TypeVar("ShardT", bound=Shard)
AnswerT = TypeVar("AnswerT")


class ShardLog(Generic[ShardT]):
    def __init__(self, now: Callable[[], tuple[float, TimestampMs]], *, in_order: bool = False) -> None:
        """`in_order`: answers without records wait for the records before them, too."""
        self.records: list[StateRecord] = []
        self.committed_end = 0
        self.holds = False
        """Commit nothing until `commit` is called."""
        self.refusals: Iterator[ErrorCode] = iter(())
        """Errors that the next appends fail with; see `refuse`."""
        self._now = now
        self._in_order = in_order
        self._waiting: list[tuple[int, ShardDecision[Any]]] = []

    def refuse(self, error: ErrorCode | None, *times: int) -> None:
        """Fail the next appends, as many `times` as given or for ever; None: accept them again."""
        self.refusals = iter(()) if error is None else repeat(error, *times)

    def load(self, shard: ShardT) -> ShardT:
        """Replay the log into a new shard, which serves from now on."""
        for key, value in self.records:
            shard.replay(key, value)
        self.shard = shard
        self.write_all(shard.on_loaded(*self._now()))
        return shard

    def write(self, decision: ShardDecision[AnswerT]) -> Pending[AnswerT]:
        """Append, apply, and commit unless commits are held back."""
        if decision.records and (error := next(self.refusals, None)) is not None:
            decision.fail(client_error(error), *self._now())
        elif decision.records or self._in_order:
            self.records += decision.records
            self.shard.apply(decision, *self._now())
            self._waiting.append((len(self.records), decision))
            if not self.holds:
                self.commit()
        else:
            decision.release(*self._now())
        return decision.answer

    def write_all(self, decisions: Iterable[ShardDecision[None]]) -> None:
        for decision in decisions:
            self.write(decision)

    def commit(self, end: int | None = None) -> None:
        """Everything below `end` is committed; all of the log where no end is given."""
        self.committed_end = max(self.committed_end, len(self.records) if end is None else end)
        while self._waiting and self._waiting[0][0] <= self.committed_end:
            self._waiting.pop(0)[1].release(*self._now())

    def tick(self) -> None:
        """Write every decision whose time has come."""
        while (decision := self.shard.tick(*self._now())) is not None:
            self.write(decision)

    def truncate(self, end: int) -> None:
        """The coordinator crashes and loses everything from `end` on. Nothing that waits is ever answered."""
        del self.records[end:]
        self.committed_end = len(self.records)
        self._waiting.clear()
        self.holds = False

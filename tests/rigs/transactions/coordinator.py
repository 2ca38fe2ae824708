"""A transaction coordinator with a log in memory, driven as the broker drives it: for tests."""

from dataclasses import dataclass, field
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.transactions.marker import MarkersToWrite
from tidelog.transactions.messages import AddRequest, EndAnswer, EndRequest, InitAnswer, InitRequest
from tidelog.transactions.outcome import Outcome, TransactionRecord
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import NOBODY, Identity, NeedsProducerId, TopicPartition, Transaction

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ID = "billing-1"
SETTINGS = TransactionSettings(two_phase_commit=True)


@dataclass
class Coordinator:
    settings: TransactionSettings = SETTINGS
    log: list[TransactionRecord] = field(default_factory=list)
    now: float = 1000.0
    epoch: int = 0
    next_producer_id: int = 100
    refuse: ErrorCode | None = None
    """The error that the next appends fail with."""

    def __post_init__(self) -> None:
        self.load()

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    def load(self) -> None:
        """As after a crash or a move: all that is known comes from the log."""
        self.epoch += 1
        self.shard = TransactionShard(self.settings)
        for record in self.log:
            self.shard.replay(*record)
        self.shard.on_loaded(self.epoch, self.now, self.now_ms)

    def run(self, outcome: Outcome[Any]) -> Any:
        if self.refuse is not None and outcome.records:
            return outcome.refused(self.refuse)
        self.log += outcome.records
        self.shard.apply(outcome, self.now, self.now_ms)
        self.shard.release(outcome)
        return outcome.answer

    def init(self, expected: Identity = NOBODY, timeout_ms: int = 60_000, **more: Any) -> InitAnswer:
        request = InitRequest(more.pop("id", ID), timeout_ms, expected, **more)
        try:
            outcome = self.shard.init(request, self.now_ms)
        except NeedsProducerId:
            outcome = self.shard.init(request, self.now_ms, self.spare_id())
        answer: InitAnswer = self.run(outcome)
        return answer

    def spare_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def add(self, producer: Identity, *partitions: TopicPartition, version: int = 2) -> ErrorCode:
        request = AddRequest(ID, producer, partitions or (A0, B0), version)
        error: ErrorCode = self.run(self.shard.add(request, self.now_ms))
        return error

    def verify(self, producer: Identity, *partitions: TopicPartition) -> list[ErrorCode]:
        return [one.error for one in self.run(self.shard.verify(AddRequest(ID, producer, partitions)))]

    def end(self, producer: Identity, *, commit: bool = True, version: int = 2) -> EndAnswer:
        request = EndRequest(ID, producer, commit, version)
        try:
            outcome = self.shard.end(request, self.now_ms)
        except NeedsProducerId:
            outcome = self.shard.end(request, self.now_ms, self.spare_id())
        answer: EndAnswer = self.run(outcome)
        return answer

    def mark_all(self) -> list[MarkersToWrite]:
        """Write every marker that is wanted."""
        written = self.shard.take_markers()
        for marker, _ in written:
            outcome = self.shard.complete(marker, self.now_ms)
            if outcome is None:
                raise AssertionError(f"nobody waits for {marker}")
            self.run(outcome)
        return written

    def wait(self, seconds: float) -> None:
        self.now += seconds
        while (outcome := self.shard.tick(self.now, self.now_ms)) is not None:
            self.run(outcome)

    @property
    def found(self) -> Transaction:
        return self.shard.transactions[ID]

    def put(self, transaction: Transaction) -> None:
        """As if it had come to this."""
        self.shard.transactions[ID] = transaction

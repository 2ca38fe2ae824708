"""A transaction coordinator with a log in memory, driven as the broker drives it: for tests."""

from dataclasses import dataclass
from typing import Any

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode
from tidelog.coordination.decision import ShardDecision
from tidelog.transactions.marker import MarkersToWrite
from tidelog.transactions.messages import AddRequest, EndAnswer, EndRequest, InitAnswer, InitRequest
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import (
    NO_IDENTITY,
    Identity,
    NeedsProducerId,
    TopicPartition,
    Transaction,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ID = "billing-1"
SETTINGS = TransactionSettings(two_phase_commit=True)


@dataclass
class Coordinator:
    settings: TransactionSettings = SETTINGS
    now: float = 1000.0
    epoch: int = 0
    next_producer_id: int = 100

    def __post_init__(self) -> None:
        self.log: ShardLog[TransactionShard] = ShardLog(lambda: (self.now, self.now_ms))
        self.load()

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    def load(self) -> None:
        """As after a crash or a move: all that is known comes from the log."""
        self.epoch += 1
        self.shard = self.log.load(TransactionShard(self.settings, self.epoch))

    def run(self, decision: ShardDecision[Any]) -> Any:
        return self.log.write(decision).answer

    def init(self, expected: Identity = NO_IDENTITY, timeout_ms: int = 60_000, **more: Any) -> InitAnswer:
        request = InitRequest(more.pop("id", ID), timeout_ms, expected, **more)
        try:
            decision = self.shard.init(request, self.now_ms)
        except NeedsProducerId:
            decision = self.shard.init(request, self.now_ms, self.spare_id())
        answer: InitAnswer = self.run(decision)
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
            decision = self.shard.end(request, self.now_ms)
        except NeedsProducerId:
            decision = self.shard.end(request, self.now_ms, self.spare_id())
        answer: EndAnswer = self.run(decision)
        return answer

    def mark_all(self) -> list[MarkersToWrite]:
        """Write every marker that is wanted."""
        written = self.shard.take_markers()
        for marker, _ in written:
            decision = self.shard.complete(marker, self.now_ms)
            if decision is None:
                raise AssertionError(f"no transaction waits for {marker}")
            self.run(decision)
        return written

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.log.tick()

    @property
    def found(self) -> Transaction:
        return self.shard.transactions[ID]

    def put(self, transaction: Transaction) -> None:
        """Set the state of the transaction without a request."""
        self.shard.transactions[ID] = transaction

"""Producers, a transaction coordinator and partition leaders in one deterministic world, for property tests.

The parts are real and pure: coordinator, marker queue, producer state, verification. The world loses answers,
delays requests, crashes the coordinator with what was not committed yet, lets an old one's markers arrive
late, and at last checks what every reader could have seen against the answers that producers got.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import ShardDecision
from tidelog.storage.producers import reused_sequences
from tidelog.storage.producers.producers import Producers
from tidelog.storage.producers.verification import VerificationGuard, Verifications
from tidelog.transactions.marker import Marker
from tidelog.transactions.marker_queue import MarkerQueue, MarkerResult
from tidelog.transactions.messages import AddRequest, EndAnswer, EndRequest, InitAnswer, InitRequest
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import Identity, NeedsProducerId, TopicPartition
from tidelog.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader
from tidelog.wire.record import Control, ControlType

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
IDS = ["one", "two"]
TIMEOUT_MS = 60_000
SHARD = 0
LEADER = 1


class Torn(AssertionError):
    """What a reader can see is not what a producer was answered."""


def batch(
    producer: Identity, sequence: int, attributes: int = TRANSACTIONAL, *, base: int = 0, crc: int = 0
) -> BatchHeader:
    return BatchHeader(
        base, 49, 0, 2, crc, attributes, 0, 0, 0, producer.producer_id, producer.epoch, sequence, 1
    )


class PartitionLeader:
    """A log as far as transactions see it: who wrote what, and how it was ended."""

    def __init__(self) -> None:
        self.producers = Producers()
        self.verifications = Verifications()
        self.entries: list[tuple[int, Txn | None, bool]] = []
        """(producer id, the transaction of a record or None for a marker, whether the marker commits)."""
        self.headers: dict[int, BatchHeader] = {}
        """Of the records, by offset."""

    def begin(self, producer: Identity, sequence: int, version: int) -> VerificationGuard | None:
        if self.producers.has_open(*producer):
            return None
        return self.verifications.begin(*producer, sequence, 0, ends_raise_epoch=version >= 2)

    def append(self, producer: Identity, sequence: int, txn: "Txn", guard: VerificationGuard | None) -> None:
        """KafkaError where the leader's log refuses it, as `ProducerState` does."""
        base = len(self.entries)
        header = batch(producer, sequence, base=base, crc=txn.number)
        if (duplicate := self.producers.check(header)) is not None:
            if duplicate.is_over:
                reused_sequences.check_reuse(header, duplicate, self.headers[duplicate.base])
            return
        if not self.producers.has_open(*producer):
            self.verifications.check(header, guard)
        self.producers.note(header, base)
        self.verifications.opened(*producer)
        self.entries.append((producer.producer_id, txn, False))
        self.headers[base] = header

    def mark(self, marker: Marker) -> ErrorCode:
        header = batch(marker.writer, -1, TRANSACTIONAL | CONTROL)
        control = Control(
            ControlType.COMMIT if marker.commit else ControlType.ABORT, marker.coordinator_epoch
        )
        try:
            self.producers.check_marker(header, control, marker.version)
        except KafkaError as error:
            return error.code
        self.producers.note(header, len(self.entries), control)
        self.verifications.ended(*marker.writer)
        self.entries.append((marker.producer_id, None, marker.commit))
        return ErrorCode.NONE

    def outcomes(self) -> dict[int, list[bool]]:
        """How each transaction's records here were ended, by number; those of open ones are missing."""
        ended: dict[int, list[bool]] = {}
        waiting: dict[int, list[Txn]] = {}
        for producer_id, txn, commit in self.entries:
            if txn is not None:
                waiting.setdefault(producer_id, []).append(txn)
                continue
            for one in waiting.pop(producer_id, []):
                ended.setdefault(one.number, []).append(commit)
        return ended


@dataclass(eq=False)
class Txn:
    """A transaction as its producer sees it."""

    number: int
    commit: bool | None = None
    """How the producer wants it to end, once it has asked for that."""
    answer: bool | None = None
    """How it ended, as its producer was answered."""
    writes: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(eq=False)
class Client:
    id: str
    version: int
    producer: Identity | None = None
    txn: Txn | None = None
    joined: dict[TopicPartition, None] = field(default_factory=dict)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    must_abort: bool = False
    is_waiting: bool = False
    is_dead: bool = False

    def became(self, producer: Identity) -> None:
        if producer != self.producer:
            self.sequences.clear()
        self.producer = producer


class World:
    def __init__(self, random: Random, *, versions: tuple[int, ...] = (0, 2)) -> None:
        self.random = random
        self.versions = versions
        self.now = 1000.0
        self.log: ShardLog[TransactionShard] = ShardLog(lambda: (self.now, self.now_ms), in_order=True)
        self.unanswered: list[Callable[[Any], None]] = []
        self.epoch = 0
        self.producer_id = 0
        self.leaders = {partition: PartitionLeader() for partition in PARTITIONS}
        self.clients: list[Client] = []
        self.txns: list[Txn] = []
        self.late: list[Callable[[], object]] = []
        """Requests that are still on their way, and may arrive at any time, or never."""
        self.load()

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)

    # --- the coordinator's shell

    def load(self) -> None:
        self.epoch += 1
        self.queue = MarkerQueue()
        self.sent: dict[Marker, list[TopicPartition]] = {}
        self.shard = self.log.load(TransactionShard(TransactionSettings(), self.epoch))
        self.take_markers()

    def commit(self, end: int | None = None) -> None:
        self.log.commit(end)
        self.take_markers()

    def take_markers(self) -> None:
        for markers in self.shard.take_markers():
            self.queue.add(SHARD, markers)

    def crash(self) -> None:
        """Committed records stay, and some of the others. Requests that wait are never answered."""
        for marker, partitions in self.sent.items():
            self.delay_markers(marker, partitions)
        unanswered, self.unanswered = self.unanswered, []
        self.log.truncate(self.random.randint(self.log.committed_end, len(self.log.records)))
        self.load()
        for done in unanswered:
            done(None)

    def ask(self, call: Callable[[int | None], ShardDecision[Any]], done: Callable[[Any], None]) -> None:
        """`done` gets the answer, or None if it is lost."""
        try:
            decision = call(None)
        except NeedsProducerId:
            self.producer_id += 1
            decision = call(self.producer_id)
        is_lost = self.random.random() < 0.05
        self.unanswered.append(done)

        def answered(answer: Any) -> None:
            self.unanswered.remove(done)
            done(None if is_lost else answer)

        self.log.write(decision).on_done(answered)
        self.take_markers()

    # --- producers

    def init(self, client: Client) -> None:
        client.is_waiting = True

        def answered(answer: InitAnswer | None) -> None:
            client.is_waiting = False
            if answer is not None and answer.error is ErrorCode.NONE:
                client.became(answer.producer)

        request = InitRequest(client.id, TIMEOUT_MS)
        self.ask(lambda spare: self.shard.init(request, self.now_ms, spare), answered)

    def write(self, client: Client) -> None:
        producer = client.producer
        if producer is None:
            return
        if client.txn is None:
            client.txn = Txn(len(self.txns))
            self.txns.append(client.txn)
        txn, partition = client.txn, self.random.choice(PARTITIONS)
        leader, sequence = self.leaders[partition], client.sequences.get(partition, 0)
        request = AddRequest(client.id, producer, (partition,), client.version)
        # With KIP-890 the leader adds the partition; before, the producer does, and the leader verifies.
        guard = leader.begin(producer, sequence, client.version) if client.version >= 2 else None
        client.is_waiting = True

        def append() -> None:
            try:
                leader.append(producer, sequence, txn, guard)
            except KafkaError as refusal:
                client.must_abort = True
                # A client of the first protocol has no new epoch to start its numbers again with.
                is_stuck = refusal.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and client.version < 2
                client.is_dead = client.is_dead or (is_stuck and client.txn is txn)
                return
            if client.txn is txn and txn.commit is None:
                client.sequences[partition] = sequence + 1
                txn.writes[partition] = txn.writes.get(partition, 0) + 1

        def answered(error: ErrorCode | None) -> None:
            nonlocal guard
            client.is_waiting = False
            if error is None:
                client.must_abort = True
                return
            if error is ErrorCode.NONE and client.version < 2:
                guard = leader.begin(producer, sequence, client.version)
                if guard is not None:
                    [(_, error)] = self.shard.verify(request).if_committed
            if error is not ErrorCode.NONE:
                self.heard(client, error)
                return
            client.joined[partition] = None
            if self.random.random() < 0.05:
                self.late.append(append)  # the producer gives it up for lost
                client.must_abort = True
            else:
                append()

        if partition in client.joined and (client.version < 2 or guard is None):
            answered(ErrorCode.NONE)
        else:
            self.ask(lambda _: self.shard.add(request, self.now_ms), answered)

    def end(self, client: Client) -> None:
        txn, producer = client.txn, client.producer
        if txn is None or producer is None:
            return
        if txn.commit is None:
            txn.commit = not client.must_abort and self.random.random() < 0.7
            if not client.joined and client.version < 2:
                txn.answer, client.txn = False, None
                return
            if not client.joined:
                txn.commit = False
        client.is_waiting = True
        request = EndRequest(client.id, producer, txn.commit, client.version)

        def answered(answer: EndAnswer | None) -> None:
            client.is_waiting = False
            if answer is None:
                return  # it asks once more
            if answer.error is ErrorCode.INVALID_TXN_STATE and txn.commit and client.version >= 2:
                txn.answer, client.is_dead = False, True  # its time was over, and clients give up over that
                return
            if answer.error is not ErrorCode.NONE:
                self.heard(client, answer.error)
                return
            txn.answer = txn.commit
            client.txn, client.must_abort = None, False
            client.joined.clear()
            client.became(answer.producer)

        if client.version >= 2 and self.random.random() < 0.2:
            self.late.append(lambda: self.end_again(request))
        self.ask(lambda spare: self.shard.end(request, self.now_ms, spare), answered)

    def end_again(self, request: EndRequest) -> None:
        """A copy of the request that was delayed on its way."""
        self.ask(lambda spare: self.shard.end(request, self.now_ms, spare), lambda _: None)

    def heard(self, client: Client, error: ErrorCode) -> None:
        if error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING):
            client.is_dead = True
        elif error is ErrorCode.TRANSACTION_ABORTABLE:
            client.must_abort = True
        elif error is not ErrorCode.CONCURRENT_TRANSACTIONS:
            raise Torn(f"{client} hears {error!r}")

    # --- markers

    def send_markers(self) -> None:
        for requests in self.queue.take(lambda _: LEADER, self.now).values():
            self.sent.update(requests)

    def deliver_markers(self) -> None:
        """Some of what is under way arrives; answers may be lost, and requests come once more later."""
        sent, self.sent = self.sent, {}
        results = []
        for marker, partitions in sent.items():
            for partition in partitions:
                chance = self.random.random()
                if chance > 0.1:
                    error = self.leaders[partition].mark(marker)
                    if chance > 0.2:
                        results.append(MarkerResult(marker, partition, error))
                if chance < 0.3:
                    self.delay_markers(marker, [partition])
        if sent:
            self.finish_markers(results)

    def finish_markers(self, results: list[MarkerResult]) -> None:
        self.queue.answered(LEADER, results, self.now)
        for _, marker in self.queue.take_done():
            decision = self.shard.complete(marker, self.now_ms)
            if decision is not None:
                self.log.write(decision)
        self.take_markers()

    def delay_markers(self, marker: Marker, partitions: list[TopicPartition]) -> None:
        if marker.version >= 2:  # a delayed marker of the first protocol does harm, as in Kafka
            for partition in partitions:
                self.late.append(lambda one=partition: self.leaders[one].mark(marker))  # type: ignore[misc]

    # --- time and chance

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.log.tick()
        self.take_markers()

    def step(self) -> None:
        chance = self.random.random()
        alive = [client for client in self.clients if not client.is_waiting and not client.is_dead]
        if chance < 0.02:
            self.crash()
        elif chance < 0.04:
            self.log.holds = not self.log.holds
        elif chance < 0.08:
            self.commit(self.random.randint(self.log.committed_end, len(self.log.records)))
        elif chance < 0.10:
            self.pass_time(self.random.choice([1, 1, 1, 30, 70]))
        elif chance < 0.25:
            self.send_markers()
        elif chance < 0.40:
            self.deliver_markers()
        elif chance < 0.46 and self.late:
            self.late.pop(self.random.randrange(len(self.late)))()
        elif chance < 0.47 or all(client.is_dead for client in self.clients):
            self.clients.append(Client(self.random.choice(IDS), self.random.choice(self.versions)))
        elif not alive:
            self.commit()
        else:
            client = self.random.choice(alive)
            if client.producer is None:
                self.init(client)
            elif client.must_abort or (client.txn is not None and self.random.random() < 0.3):
                self.end(client)
            elif client.txn is None or client.txn.commit is None:
                self.write(client)
            else:
                self.end(client)

    def heal(self) -> None:
        """No more faults: everything that was begun must come to its end."""
        self.log.holds = False
        self.commit()
        for late in self.late:
            late()
        self.late.clear()
        for _ in range(40):
            self.pass_time(2)
            self.send_markers()
            results = [
                MarkerResult(marker, one, self.leaders[one].mark(marker))
                for marker, where in self.sent.items()
                for one in where
            ]
            self.sent = {}
            self.finish_markers(results)

    def check(self) -> None:
        """After `heal`: nothing hangs, nothing is torn, and every answer was true."""
        for partition, leader in self.leaders.items():
            if leader.producers.first_open is not None:
                raise Torn(f"{partition} has a transaction that nobody ends")
        if any(not one.is_idle for one in self.shard.transactions.values()):
            raise Torn(f"still under way: {self.shard.transactions}")
        ends: dict[int, list[bool]] = {}
        counts: dict[tuple[int, TopicPartition], int] = {}
        for partition, leader in self.leaders.items():
            for number, outcomes in leader.outcomes().items():
                ends.setdefault(number, []).extend(outcomes)
                counts[number, partition] = len(outcomes)
        for txn in self.txns:
            found = ends.get(txn.number, [])
            if len(set(found)) > 1:
                raise Torn(f"{txn} was committed in part")
            if txn.answer is not None and any(one != txn.answer for one in found):
                raise Torn(f"{txn} was answered {txn.answer}, readers see {found}")
            if any(found) and txn.commit is not True:
                raise Torn(f"{txn} was committed, which nobody asked for")
            for partition, count in txn.writes.items():
                if txn.answer and counts.get((txn.number, partition), 0) < count:
                    raise Torn(f"{txn} lost records in {partition}")

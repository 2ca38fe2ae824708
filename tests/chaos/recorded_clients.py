"""librdkafka clients that write down all they did and saw, for the checkers to judge.

Each runs on a thread of its own until it is told to finish. What a client should never meet, whatever happens
to the brokers, is a complaint.
"""

import itertools
import threading
import time
from collections.abc import Sequence

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from tidelog.testing.history import Completion, History, Operation, Read, Sent

RECONNECT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}
VERDICT_S = 90.0
"""How long a record may be under way: longer than any fault, so that whatever is healed is acknowledged."""

BUNDLE = 200
"""Messages of one recorded poll."""

Places = Sequence[tuple[str, int]]
"""Topics and partitions."""


class Record:
    """The history of all clients of one run."""

    def __init__(self) -> None:
        self.history = History()
        self.complaints: list[str] = []
        self._names = itertools.count(1)
        self.group_commits: dict[tuple[str, int], int] = {}
        """As acknowledged, the highest of each partition."""

    def name(self, kind: str) -> str:
        return f"{kind}{next(self._names)}"

    def add(self, operation: Operation) -> None:
        self.history.add(operation)  # one append of a list: safe from any thread

    def committed(self, place: tuple[str, int], offset: int) -> None:
        self.group_commits[place] = max(offset, self.group_commits.get(place, 0))

    def complain(self, who: str, what: object) -> None:
        self.complaints.append(f"{who}: {what}")


class RecordedClient(threading.Thread):
    def __init__(self, record: Record, kind: str) -> None:
        super().__init__(name=record.name(kind), daemon=True)
        self.record = record
        self.is_stopping = threading.Event()

    def run(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.record.complain(self.name, repr(error))

    def work(self) -> None:
        raise NotImplementedError

    def finish(self, patience_s: float = VERDICT_S + 30) -> None:
        self.is_stopping.set()
        self.join(patience_s)
        if self.is_alive():
            self.record.complain(self.name, f"does not end within {patience_s:g} s")


class RecordedProducer(RecordedClient):
    """acks=all comes with idempotence, acks=1 without: as people use them."""

    def __init__(
        self, record: Record, servers: str, places: Places, *, acks: int = -1, sends_per_second: float = 50.0
    ) -> None:
        super().__init__(record, "p")
        self._places = places
        self.acks = acks
        self._pause_s = 1 / sends_per_second
        self.counts = dict.fromkeys(Completion, 0)
        self.last_ok = time.monotonic()
        self.longest_wait_s = 0.0
        """Between two acknowledgements, while it had something to send all the time."""
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": self.name,
                "enable.idempotence": acks == -1,
                "acks": acks,
                "linger.ms": 5,
                "message.timeout.ms": int(VERDICT_S * 1000),
                "request.timeout.ms": 5_000,
                "retry.backoff.ms": 50,
                "topic.metadata.refresh.interval.ms": 5_000,
                **RECONNECT,
            }
        )

    @property
    def acknowledged(self) -> int:
        return self.counts[Completion.OK]

    def work(self) -> None:
        self.last_ok = time.monotonic()
        for number in itertools.count():
            if self.is_stopping.is_set():
                break
            topic, partition = self._places[number % len(self._places)]
            operation = Operation(
                self.name,
                "send",
                Completion.INFO,
                started=time.monotonic(),
                sent=[Sent(f"{topic}-{partition}", f"{self.name}-{number}")],
                acks=self.acks,
                idempotent=self.acks == -1,
            )
            try:
                self._producer.produce(
                    topic,
                    operation.sent[0].value,
                    partition=partition,
                    on_delivery=lambda error, message, done=operation: self._delivered(done, error, message),
                )
            except BufferError:
                self._producer.poll(0.1)
                continue
            except KafkaException as error:  # a fatal error, after which librdkafka takes nothing more
                self.record.complain(self.name, error)
                break
            self._producer.poll(self._pause_s)
        left = self._producer.flush(VERDICT_S)
        if left:
            self.record.complain(self.name, f"{left} records have no verdict after {VERDICT_S:g} s")

    def _delivered(self, operation: Operation, error: KafkaError | None, message: Message) -> None:
        now = operation.ended = time.monotonic()
        if error is None:
            operation.outcome = Completion.OK
            operation.sent[0].offset = message.offset()
            self.longest_wait_s = max(self.longest_wait_s, now - self.last_ok)
            self.last_ok = now
        else:
            # An earlier attempt may have arrived, so nobody knows.
            operation.error = error.str()
            if error.fatal():
                self.record.complain(self.name, error)
        self.counts[operation.outcome] += 1
        self.record.add(operation)


PASSING = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}
"""What a consumer is told of while brokers are away; it goes on by itself."""


class RecordedConsumer(RecordedClient):
    """Reads all partitions from their beginning, without a group."""

    def __init__(self, record: Record, servers: str, places: Places, **settings: object) -> None:
        super().__init__(record, "c")
        self._places = places
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "client.id": self.name,
                "group.id": self.name,
                "enable.auto.commit": False,
                # Nothing that a consumer has read may go away, so it is never out of range.
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 50,
                "topic.metadata.refresh.interval.ms": 5_000,
                **RECONNECT,
                **settings,
            }
        )
        self.positions: dict[tuple[str, int], int] = {}
        self._ends: dict[tuple[str, int], int] | None = None
        self._poll = Operation(self.name, "poll")

    def work(self) -> None:
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in self._places])
        self.record.add(_now(self.name, "assign"))
        try:
            while not self.is_stopping.is_set() and not self._is_at_the_end():
                self._read_some()
        finally:
            self._consumer.close()

    def read_to(self, ends: dict[tuple[str, int], int]) -> None:
        """It ends by itself there."""
        self._ends = ends

    def _is_at_the_end(self) -> bool:
        return self._ends is not None and all(
            self.positions.get(place, 0) >= end for place, end in self._ends.items()
        )

    def _read_some(self) -> None:
        """One message at a time: a rebalance comes between two, never unnoticed within a bundle."""
        message = self._consumer.poll(0.1)
        while message is not None:
            self._take(message)
            message = self._consumer.poll(0) if len(self._poll.read) < BUNDLE else None
        self._note_poll()

    def _note_poll(self) -> None:
        if self._poll.read:
            self._poll.ended = time.monotonic()
            self.record.add(self._poll)
        self._poll = _now(self.name, "poll")

    def _take(self, message: Message) -> None:
        if (error := message.error()) is not None:
            if not error.retriable() and error.code() not in PASSING:
                self.record.complain(self.name, error)
            return
        topic, partition, offset, value = (
            message.topic(),
            message.partition(),
            message.offset(),
            message.value(),
        )
        assert topic is not None
        assert partition is not None
        assert offset is not None
        assert value is not None
        self.positions[topic, partition] = offset + 1
        self._poll.read.append(Read(f"{topic}-{partition}", offset, value.decode()))


class RecordedMember(RecordedConsumer):
    """One of a group: commits after each poll, and looks after a rebalance whether commits were kept."""

    def __init__(self, record: Record, servers: str, places: Places, group: str = "g") -> None:
        settings = {
            "group.id": group,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 500,
        }
        super().__init__(record, servers, places, **settings)

    def work(self) -> None:
        topics = sorted({topic for topic, _ in self._places})
        self._consumer.subscribe(topics, on_assign=self._assigned)
        committed: dict[tuple[str, int], int] = {}
        try:
            while not self.is_stopping.is_set():
                self._read_some()
                moved = {at: offset for at, offset in self.positions.items() if committed.get(at) != offset}
                if moved:
                    self._commit(moved)
                    committed.update(moved)
        finally:
            self._consumer.close()

    def _commit(self, moved: dict[tuple[str, int], int]) -> None:
        offsets = [TopicPartition(*place, offset) for place, offset in moved.items()]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:  # a rebalance, or no coordinator: what was read may be read again
            return
        for one in done or ():
            if one.error is None:
                self.record.committed((one.topic, one.partition), one.offset)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._note_poll()
        self.record.add(_now(self.name, "subscribe"))
        self.positions.clear()
        promised = dict(self.record.group_commits)
        try:
            committed = consumer.committed(partitions, timeout=10)
        except KafkaException:  # nobody can be asked now; the client itself asks again
            return
        for one in committed:
            wanted = promised.get((one.topic, one.partition))
            if wanted is not None and one.error is None and one.offset < wanted:
                self.record.complain(
                    self.name,
                    f"lost commit: {one.topic}-{one.partition} was committed at {wanted}, now {one.offset}",
                )


def _now(process: str, kind: str) -> Operation:
    now = time.monotonic()
    return Operation(process, kind, started=now, ended=now)

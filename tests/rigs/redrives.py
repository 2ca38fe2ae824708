"""A dead-letter topic and a target in memory, whose requests can be interrupted, and run in between."""

import random
from collections.abc import Callable, Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import Topic
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.redriver import Ports, Redriver
from tidelog.clients.records import TopicPartition
from tidelog.shares.dead_letters.letters import FailedRecord, Origin, Reason, write_letters
from tidelog.wire.batch import BatchHeader, read_header
from tidelog.wire.record import Record, read_records

DEAD, JOBS = "jobs-dead", "jobs"
TARGET = TopicPartition(JOBS, 0)


class Interrupted(BaseException):
    """As Ctrl-C, a kill or a lost machine."""


class Log:
    """A partition in memory, with the leader's memory of producers."""

    def __init__(self, cluster: "Cluster", name: str, id: bytes) -> None:
        self.topic = Topic(name, id, {0: 1})
        self.place = TopicPartition(name, 0)
        self.cluster = cluster
        self.records_: list[tuple[BatchHeader, Record]] = []
        self.producers: dict[ProducerIdentity, int] = {}

    def bounds(self, *, read_committed: bool = False) -> tuple[int, int]:
        return 0, len(self.records_)

    def records(
        self,
        start: int,
        end: int,
        *,
        read_committed: bool = False,
        is_wanted: Callable[[BatchHeader], bool] = lambda _: True,
    ) -> Iterator[Record]:
        self.cluster.request()
        for header, record in self.records_[start:end]:
            if is_wanted(header):
                yield record

    def append(self, batch: bytearray) -> int:
        self.cluster.request()
        if self.cluster.topics.get(self.topic.name) is not self:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        base = len(self.records_)
        header = read_header(batch)._replace(base_offset=base)
        writer = ProducerIdentity(header.producer_id, header.producer_epoch)
        if header.producer_id >= 0:
            if (known := self.producers.get(writer)) is not None:
                if known == header.record_count:
                    return -1  # a duplicate
                raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            self.producers[writer] = header.record_count
        self.records_ += [
            (header, record._replace(offset=base + number))
            for number, record in enumerate(read_records(batch))
        ]
        self.cluster.answer()
        return base


class Cluster:
    def __init__(self) -> None:
        self.now = 1_000_000
        self.writers = 0
        self.requests_left: int | None = None
        self.before_request: Callable[[], None] = lambda: None
        self.topics: dict[str, Log] = {}
        for name in (DEAD, JOBS):
            self.create(name)

    def create(self, name: str) -> None:
        self.topics[name] = Log(self, name, random.randbytes(16))

    def request(self) -> None:
        self.before_request()
        self._count()

    def answer(self) -> None:
        """The request has done its work; its sender may be gone by now."""
        self._count()

    def _count(self) -> None:
        if self.requests_left is not None:
            self.requests_left -= 1
            if self.requests_left < 0:
                raise Interrupted

    def new_writer(self) -> ProducerIdentity:
        self.writers += 1
        return ProducerIdentity(self.writers, 0)

    def bury(self, count: int) -> None:
        """Dead letters as the broker writes them."""
        failed = [FailedRecord(offset, 5, Reason.REJECTED) for offset in range(count)]
        records = {
            offset: Record(offset, 1, b"k%d" % offset, b"v", [("own", b"1")]) for offset in range(count)
        }
        log = self.topics[DEAD]
        header = read_header(bytes(61))._replace(
            base_offset=len(log.records_), last_offset_delta=count - 1, producer_id=99, record_count=count
        )
        log.records_ += [
            (header, record._replace(offset=len(log.records_) + record.offset))
            for record in write_letters(Origin(JOBS, 0, "g"), failed, records, self.now)
        ]

    @property
    def put_back(self) -> list[bytes]:
        return [record.key or b"" for _, record in self.topics[JOBS].records_]

    def redriver(self) -> Redriver:
        ports = Ports(lambda topic, _: self.topics.get(topic), self.new_writer, lambda: self.now)  # type: ignore[arg-type, return-value]
        return Redriver(self.topics[DEAD], ports)  # type: ignore[arg-type]

"""The log of one partition: read its records in order, append batches to it. Leaders may move meanwhile.

Topics are called by their ids where the broker can, so nothing is read from or written to another topic that
has come to have the same name.
"""

from collections.abc import Callable, Iterator

from tidelog.base.errors import ErrorCode
from tidelog.base.ports import Buffer
from tidelog.blocking.aborted import AbortedTransactions
from tidelog.blocking.cluster import NO_ID, Cluster, Topic, TopicPartition
from tidelog.blocking.errors import GaveUp
from tidelog.blocking.log_bounds import LogBounds
from tidelog.wire.batch import BatchHeader, iter_batches
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tidelog.wire.record import Record, read_records

BYTES_MAX = 4 << 20
"""Of a fetch; a larger batch comes whole."""
WAIT_MS = 500
NAMES_UP_TO = 12
"""The last version of Fetch, and of Produce, that calls topics by name."""
ACKS_ALL = -1


def every_batch(_: BatchHeader) -> bool:
    return True


class PartitionLog:
    def __init__(self, cluster: Cluster, topic: Topic, partition: int) -> None:
        self.topic = topic
        self.place = TopicPartition(topic.name, partition)
        self._cluster = cluster
        self._at_most = NAMES_UP_TO if topic.id == NO_ID else None

    def bounds(self, *, read_committed: bool = False) -> tuple[int, int]:
        """Where the log begins, and where what can be read ends."""
        asked = LogBounds(self._cluster, read_committed=read_committed)
        return asked.earliest([self.place])[self.place], asked.latest([self.place])[self.place]

    def records(
        self,
        start: int,
        end: int,
        *,
        read_committed: bool = False,
        is_wanted: Callable[[BatchHeader], bool] = every_batch,
    ) -> Iterator[Record]:
        """Yields the records of [start, end) that the log has. Opens no batch that is not wanted."""
        position, asked, answers = start, start, 0
        while position < end:
            answers = 0 if position > asked else answers + 1
            if answers * WAIT_MS > 1000 * self._cluster.settings.limits.total_s:
                raise GaveUp(f"{self.place}: its leader sends nothing from offset {position} on")
            asked = position
            data = self._fetch(position, read_committed)
            if data.error_code:  # retention, or a purge, took what was there
                position = max(position, self.bounds()[0])
                if self.bounds()[1] <= position:
                    return
                continue
            view = memoryview(data.records or b"")  # type: ignore[arg-type]  # no file ranges in answers
            aborted = AbortedTransactions(data.aborted_transactions if read_committed else None)
            for at, header in iter_batches(view):
                batch = view[at : at + header.size]
                position = max(position, header.next_offset)
                if aborted.hide(header, batch) or header.is_control or not is_wanted(header):
                    continue
                for record in read_records(batch):
                    if start <= record.offset < end:
                        yield record

    def append(self, batch: Buffer) -> int:
        """Returns the offset of the batch's first record. Every retry sends the same bytes."""
        part = PartitionProduceData(index=self.place.partition, records=memoryview(batch))
        topic = TopicProduceData(name=self.topic.name, topic_id=self.topic.id, partition_data=[part])
        request = ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=int(1000 * self._cluster.settings.limits.request_s),
            topic_data=[topic],
        )

        def written(answer: ProduceResponse) -> PartitionProduceResponse:
            return answer.responses[0].partition_responses[0]

        answer = self._cluster.call_leader(
            self.place, request, failed=lambda answer: written(answer).error_code, at_most=self._at_most
        )
        return written(answer).base_offset

    def delete_before(self, offset: int) -> None:
        """Moves the start of the log there, for good."""
        part = DeleteRecordsPartition(partition_index=self.place.partition, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=self.topic.name, partitions=[part])],
            timeout_ms=int(1000 * self._cluster.settings.limits.request_s),
        )
        self._cluster.call_leader(
            self.place, request, failed=lambda answer: answer.topics[0].partitions[0].error_code
        )

    def _fetch(self, position: int, read_committed: bool) -> PartitionData:
        part = FetchPartition(
            partition=self.place.partition, fetch_offset=position, partition_max_bytes=BYTES_MAX
        )
        request = FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=BYTES_MAX,
            isolation_level=1 if read_committed else 0,
            topics=[FetchTopic(topic=self.topic.name, topic_id=self.topic.id, partitions=[part])],
        )

        def fetched(answer: FetchResponse) -> PartitionData:
            return answer.responses[0].partitions[0]

        def failed(answer: FetchResponse) -> int:
            code = answer.error_code or fetched(answer).error_code
            return 0 if code == ErrorCode.OFFSET_OUT_OF_RANGE else code

        answer = self._cluster.call_leader(self.place, request, failed=failed, at_most=self._at_most)
        return fetched(answer)

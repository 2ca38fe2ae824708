"""Records of a partition by fetches: batches cut short, aborted transactions, records that are gone."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.blocking import partition_log
from tidelog.blocking.attempts import Limits
from tidelog.blocking.cluster import Cluster, Topic
from tidelog.blocking.errors import GaveUp
from tidelog.blocking.partition_log import NAMES_UP_TO, PartitionLog
from tidelog.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tidelog.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch


def batch(first: int, *values: bytes, producer_id: int = -1, transactional: bool = False) -> bytes:
    records = [Record(first + number, 0, None, value) for number, value in enumerate(values)]
    made = write_batch(
        records,
        base_offset=first,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=transactional,
    )
    return bytes(made)


def marker(offset: int, producer_id: int, kind: ControlType) -> bytes:
    made = write_control_batch(
        kind, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=offset
    )
    return bytes(made)


class Leader:
    """Answers fetches from a list of batches, a few at a time."""

    settings = SimpleNamespace(limits=Limits(total_s=1.0))

    def __init__(
        self, batches: Sequence[tuple[int, bytes]], aborted: Sequence[AbortedTransaction] = ()
    ) -> None:
        self.batches, self.aborted = batches, list(aborted)
        self.start = 0
        self.fetched: list[int] = []
        self.versions: list[int | None] = []

    def call_leader(self, _: object, request: Any, *, failed: Any, at_most: int | None = None) -> Any:
        self.versions.append(at_most)
        if isinstance(request, ProduceRequest):
            part = PartitionProduceResponse(base_offset=42)
            return ProduceResponse(responses=[TopicProduceResponse(partition_responses=[part])])
        assert isinstance(request, FetchRequest)
        offset = request.topics[0].partitions[0].fetch_offset
        self.fetched.append(offset)
        if offset < self.start:
            answered = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        else:
            following = [data for last, data in self.batches if last >= offset]
            # The first comes whole, and of the next what fits.
            answered = PartitionData(
                records=b"".join([*following[:1], *(data[:-1] for data in following[1:2])])
            )
            answered.aborted_transactions = self.aborted
        answer = FetchResponse(responses=[FetchableTopicResponse(partitions=[answered])])
        assert failed(answer) == 0
        return answer


def read(leader: Leader, start: int, end: int, **how: Any) -> list[bytes | None]:
    log = PartitionLog(cast("Cluster", leader), Topic("t"), 0)
    return [record.value for record in log.records(start, end, **how)]


PLAIN = [(1, batch(0, b"a", b"b")), (3, batch(2, b"c", b"d")), (5, batch(4, b"e", b"f"))]


def test_a_range_of_offsets() -> None:
    assert read(Leader(PLAIN), 0, 6) == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert read(Leader(PLAIN), 1, 4) == [b"b", b"c", b"d"]
    assert read(Leader(PLAIN), 3, 3) == []


def test_batches_that_are_not_wanted_are_not_opened() -> None:
    assert read(Leader(PLAIN), 0, 6, is_wanted=lambda header: header.base_offset == 2) == [b"c", b"d"]


ABORTED = AbortedTransaction(producer_id=7, first_offset=2)
MIXED = [
    (1, batch(0, b"a", b"b")),
    (2, batch(2, b"aborted", producer_id=7, transactional=True)),
    (3, batch(3, b"committed", producer_id=8, transactional=True)),
    (4, marker(4, 7, ControlType.ABORT)),
    (5, batch(5, b"later", producer_id=7, transactional=True)),
]


def test_aborted_records_are_skipped_where_only_committed_ones_are_read() -> None:
    everything = [(5, b"".join(data for _, data in MIXED))]
    leader = Leader(everything, [ABORTED])
    assert read(leader, 0, 6, read_committed=True) == [b"a", b"b", b"committed", b"later"]
    assert read(Leader(everything), 0, 6) == [b"a", b"b", b"aborted", b"committed", b"later"]


def test_records_that_are_gone_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(PLAIN)
    leader.start = 4
    monkeypatch.setattr(PartitionLog, "bounds", lambda *_, **__: (4, 6))
    assert read(leader, 0, 6) == [b"e", b"f"]
    monkeypatch.setattr(PartitionLog, "bounds", lambda *_, **__: (6, 6))
    assert read(leader, 0, 6) == []


def test_a_leader_that_sends_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_log, "WAIT_MS", 400)
    with pytest.raises(GaveUp):
        read(Leader(PLAIN), 6, 7)


def test_a_topic_without_an_id_is_called_by_its_name() -> None:
    named, identified = Leader(PLAIN), Leader(PLAIN)
    assert PartitionLog(cast("Cluster", named), Topic("t"), 0).append(batch(0, b"x")) == 42
    assert PartitionLog(cast("Cluster", identified), Topic("t", bytes(range(16))), 0).append(b"") == 42
    assert (named.versions, identified.versions) == ([NAMES_UP_TO], [None])

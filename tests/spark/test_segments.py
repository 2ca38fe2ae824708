"""Direct reads give what the network gives, whatever becomes of the files meanwhile."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import Topics
from tidelog.base.disk import PosixDisk
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.log_bounds import LogBounds
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.errors import DataLoss
from tidelog.spark.records.batch_decoding import COLUMNS, Decoded
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.planning import OffsetRange
from tidelog.spark.source.range_reader import FetchLimits, RangeReader
from tidelog.spark.source.segments import SegmentReader
from tidelog.storage.log_dir.partition_dir import write_topic_id
from tidelog.storage.segment.transaction_index import ENTRY
from tidelog.testing import Broker

EVERYTHING = (*COLUMNS, "headers")
SMALL_SEGMENTS = {"segment_bytes": "20000"}
Row = tuple[Any, ...]


class Reads:
    """Reads a whole partition either way; `copied` is a copy of the data directory that tests may harm."""

    def __init__(self, broker: Broker, scratch: Path) -> None:
        self.broker, self._scratch = broker, scratch
        self.cluster: Cluster = Cluster(ClusterSettings((broker.bootstrap_servers,)))
        self.network_ranges: list[OffsetRange] = []

    def range(self, topic: str, start: int = 0, *, read_committed: bool = False) -> OffsetRange:
        place = TopicPartition(topic, 0)
        end = LogBounds(self.cluster, read_committed=read_committed).latest([place])[place]
        return OffsetRange(place, start, end, self.cluster.topic(topic).id)

    def network(self, wanted: Sequence[OffsetRange], read_committed: bool = False) -> RangeReader:
        self.network_ranges = list(wanted)
        limits = FetchLimits(read_committed=read_committed)
        return RangeReader(self.cluster, wanted, limits, LossReport(fails=True), EVERYTHING)

    def files(
        self, wanted: OffsetRange, *, log_dirs: Sequence[str] = (), read_committed: bool = False
    ) -> SegmentReader:
        self.network_ranges = []
        return SegmentReader(
            self.cluster,
            [wanted],
            lambda rest: self.network(rest, read_committed),
            EVERYTHING,
            read_committed=read_committed,
            log_dirs=log_dirs,
        )

    def copied(self) -> Path:
        target = self._scratch / "copy"
        # The broker lives on, and replaces its checkpoints meanwhile.
        shutil.copytree(self.broker.data_dir, target, ignore=shutil.ignore_patterns("*.tmp"))
        return target


@pytest.fixture
def reads(broker: Broker, tmp_path: Path) -> Iterator[Reads]:
    made = Reads(broker, tmp_path)
    yield made
    made.cluster.close()


def rows(portions: Iterable[tuple[TopicPartition, Decoded]]) -> list[Row]:
    found: list[Row] = []
    for _, portion in portions:
        found += zip(*(portion.columns[name].to_pylist() for name in EVERYTHING), strict=True)
    return found


def logs(partition_dir: Path | str, topic: str) -> list[Path]:
    return sorted(Path(partition_dir, f"{topic}-0").glob("*.log"))


@pytest.fixture
def filled(topics: Any) -> str:
    """Three thousand records in dozens of segments, from librdkafka in each of its compressions."""
    topic = topics.create(**SMALL_SEGMENTS)
    for at, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        values = [b"%d %s" % (number, os.urandom(number % 90)) for number in range(at * 600, at * 600 + 600)]
        producer = {"compression.type": codec, "batch.num.messages": 50}
        topics.fill(topic, values, key=b"k", headers=[("h", b"1"), ("n", None)], producer=producer)
    return topic


def test_files_and_network_give_the_same_rows(reads: Reads, filled: str) -> None:
    wanted = reads.range(filled)
    reader = reads.files(wanted)
    found = rows(reader)
    assert [int(row[1].split()[0]) for row in found] == list(range(3000))
    assert {tuple(header.items()) for row in found for header in row[-1]} == {
        (("key", "h"), ("value", b"1")),
        (("key", "n"), ("value", None)),
    }
    sealed_end = int(logs(reads.broker.data_dir, filled)[-1].stem)
    assert reader.rows_from_files == sealed_end > 2000
    assert [(rest.start, rest.end) for rest in reads.network_ranges] == [(sealed_end, 3000)]
    assert rows(reads.network([wanted])) == found


@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 2999), (777, 778), (1234, 2222), (2999, 3000)])
def test_a_range_is_exact_wherever_it_begins_and_ends(
    reads: Reads, filled: str, start: int, end: int
) -> None:
    place = TopicPartition(filled, 0)
    found = rows(reads.files(OffsetRange(place, start, end)))
    assert [row[2] for row in found] == list(range(start, end))


@pytest.fixture
def transactional(reads: Reads, topics: Any) -> str:
    """Records by the key `kept` or `aborted`, of two producers."""
    from confluent_kafka import Producer

    topic: str = topics.create(**SMALL_SEGMENTS)
    producers = []
    for name in ("one", "two"):
        settings = {
            "bootstrap.servers": reads.broker.bootstrap_servers,
            "transactional.id": f"{topic}-{name}",
        }
        producers.append(Producer(settings))
        producers[-1].init_transactions(30)
    for number in range(24):
        # The long transaction of the first begins in one segment and ends in a later one.
        for producer, ends in ((producers[0], number % 4 == 3), (producers[1], True)):
            if producer is producers[1] or number % 4 == 0:
                producer.begin_transaction()
            is_kept = (number // 4) % 2 == 0 if producer is producers[0] else number % 3 == 0
            for _ in range(8):
                producer.produce(topic, os.urandom(300), key=b"kept" if is_kept else b"aborted", partition=0)
            assert producer.flush(30) == 0
            if ends:
                (producer.commit_transaction if is_kept else producer.abort_transaction)(30)
    return topic


def test_aborted_transactions_are_left_out(reads: Reads, transactional: str) -> None:
    for start in (0, 100, 171, 303):
        wanted = reads.range(transactional, start, read_committed=True)
        reader = reads.files(wanted, read_committed=True)
        found = rows(reader)
        assert {row[0] for row in found} == {b"kept"}
        assert reader.rows_from_files > 0
        assert found == rows(reads.network([wanted], read_committed=True))
    everything = reads.range(transactional)
    assert rows(reads.files(everything)) == rows(reads.network([everything]))


@pytest.mark.parametrize("lost", ["the first", "a later one", "all", "an entry"])
def test_an_index_of_transactions_that_is_lost_lets_no_aborted_row_through(
    reads: Reads, transactional: str, lost: str
) -> None:
    copy = reads.copied()
    indexes = sorted(Path(copy, f"{transactional}-0").glob("*.txnindex"))
    assert len(indexes) > 4
    if lost == "an entry":
        indexes[1].write_bytes(indexes[1].read_bytes()[ENTRY.size :])
    for index in {"the first": indexes[:1], "a later one": indexes[3:4], "all": indexes}.get(lost, []):
        index.unlink()
    for start in (0, 100, 171, 303):
        wanted = reads.range(transactional, start, read_committed=True)
        reader = reads.files(wanted, log_dirs=[str(copy)], read_committed=True)
        found = rows(reader)
        assert found == rows(reads.network([wanted], read_committed=True))
        if lost == "a later one" and start == 0:
            assert 0 < reader.rows_from_files < len(found)


def test_a_segment_that_vanishes_is_read_over_the_network(reads: Reads, filled: str) -> None:
    copy = reads.copied()
    reader = iter(reads.files(reads.range(filled), log_dirs=[str(copy)]))
    found = [next(reader)]
    for log in logs(copy, filled)[3:]:
        log.unlink()
    found += reader
    assert [row[2] for row in rows(found)] == list(range(3000))
    assert reads.network_ranges[0].start < 1000


def harm_bytes(partition_dir: Path) -> None:
    log = sorted(partition_dir.glob("*.log"))[4]
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    log.write_bytes(raw)


def cut_short(partition_dir: Path) -> None:
    log = sorted(partition_dir.glob("*.log"))[4]
    os.truncate(log, log.stat().st_size - 10)


def cut_at_a_batch_and_lose_the_rest(partition_dir: Path) -> None:
    for log in sorted(partition_dir.glob("*.log"))[5:]:
        log.unlink()
    os.truncate(sorted(partition_dir.glob("*.log"))[4], 0)


def begin_a_swap(partition_dir: Path) -> None:
    (partition_dir / f"{0:020d}.log.swap").write_bytes(b"")


def lose_the_first(partition_dir: Path) -> None:
    sorted(partition_dir.glob("*.log"))[0].unlink()


def belong_to_another_topic(partition_dir: Path) -> None:
    write_topic_id(PosixDisk(), str(partition_dir), os.urandom(16))


def belong_to_another_broker(partition_dir: Path) -> None:
    meta = partition_dir.parent / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=77").replace("node.id=0", "node.id=77"))


def lie_in_the_index(partition_dir: Path) -> None:
    for index in partition_dir.glob("*.index"):
        index.write_bytes(index.read_bytes()[8:] or bytes(8))


def harm_the_index_of_transactions(partition_dir: Path) -> None:
    (partition_dir / f"{0:020d}.txnindex").write_bytes(b"nonsense")


@pytest.mark.parametrize(
    "harm",
    [
        harm_bytes,
        cut_short,
        cut_at_a_batch_and_lose_the_rest,
        begin_a_swap,
        lose_the_first,
        belong_to_another_topic,
        belong_to_another_broker,
        lie_in_the_index,
        harm_the_index_of_transactions,
    ],
)
def test_files_that_are_not_right_cost_no_row(
    reads: Reads, filled: str, harm: Callable[[Path], None]
) -> None:
    copy = reads.copied()
    harm(copy / f"{filled}-0")
    for start in (0, 601):
        wanted = reads.range(filled, start)
        found = rows(reads.files(wanted, log_dirs=[str(copy)], read_committed=True))
        assert [row[2] for row in found] == list(range(start, 3000))
        if harm in (belong_to_another_topic, belong_to_another_broker, begin_a_swap):
            assert reads.network_ranges == [wanted]


def test_records_below_the_log_start_are_not_read_from_files(reads: Reads, topics: Any, filled: str) -> None:
    wanted = reads.range(filled)
    topics.cut(filled, 0, 10)  # within the first segment, which stays
    with pytest.raises(DataLoss):
        rows(reads.files(wanted))
    later = OffsetRange(wanted.partition, 10, wanted.end, wanted.topic_id)
    assert [row[2] for row in rows(reads.files(later))] == list(range(10, 3000))


def test_compaction_under_the_reader_costs_no_row_that_is_left(tmp_path: Path) -> None:
    """Each row read is as it was written at its offset, and the last of every key is always among them."""
    from confluent_kafka import Producer

    settings = {"log.cleaner.backoff.ms": 20, "log.cleaner.min.cleanable.ratio": 0.01}
    with Broker(settings=settings) as broker:
        topics, reads = Topics(broker), Reads(broker, tmp_path)
        topic = topics.create(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", **SMALL_SEGMENTS)
        written: list[tuple[bytes, bytes]] = []
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "batch.num.messages": 40})
        from_files = 0
        for number in range(12):
            rows_now = [(b"%d" % (count % 97), os.urandom(60)) for count in range(200)]
            for key, value in rows_now:
                producer.produce(topic, value, key=key, partition=0)
            assert producer.flush(30) == 0
            written += rows_now
            reader = reads.files(reads.range(topic))
            found = {row[2]: (row[0], row[1]) for row in rows(reader)}
            from_files += reader.rows_from_files
            assert all(written[offset] == row for offset, row in found.items()), number
            lasts = {key: offset for offset, (key, _) in enumerate(written)}
            assert set(lasts.values()) <= found.keys(), number
        assert from_files > 0
        assert len(found) < len(written), "nothing was compacted"
        reads.cluster.close()


def test_spark_reads_segments(source: Callable[..., Any], filled: str) -> None:
    rows = source(subscribe=filled, **{"read.path": "segments"})
    assert rows.selectExpr("count(*)", "count(distinct offset)", "sum(length(key))").first() == (
        3000,
        3000,
        3000,
    )

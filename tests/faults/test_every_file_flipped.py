"""A bit flips in any file of a log dir: it is repaired, or refused with the file's name."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import create_topic, offset_at, produce, read_all
from tests.faults.raw_client import RawClient
from tidelog.base.errors import StorageError
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.record import Record, write_batch

RECORDS = 90
START = 20
MARKER = ".kafka_cleanshutdown"
FIRST_TIME = int(time.time() * 1000) - 60_000  # retention must not take them


def value_of(number: int) -> bytes:
    return b"%06d" % number * 30


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ninety records of an idempotent producer in several segments; the first twenty are deleted."""
    log_dir = tmp_path_factory.mktemp("written")
    with Broker(data_dir=log_dir) as broker, RawClient(broker.port) as client:
        create_topic(client, "t", segment_bytes="6000", index_interval_bytes="500")
        for number in range(RECORDS):
            batch = write_batch(
                [Record(0, FIRST_TIME + number, b"k", value_of(number))],
                producer_id=4711,
                producer_epoch=0,
                base_sequence=number,
            )
            assert produce(client, "t", batch).base_offset == number
        asked = DeleteRecordsPartition(partition_index=0, offset=START)
        topic = DeleteRecordsTopic(name="t", partitions=[asked])
        client.ask(ApiKey.DELETE_RECORDS, DeleteRecordsRequest(topics=[topic]))
    return log_dir


def newest(pattern: str) -> Callable[[Path], Path]:
    return lambda log_dir: max((log_dir / "t-0").glob(pattern))


def oldest(pattern: str) -> Callable[[Path], Path]:
    return lambda log_dir: min((log_dir / "t-0").glob(pattern))


def named(name: str) -> Callable[[Path], Path]:
    return lambda log_dir: log_dir / name


FILES: dict[str, Callable[[Path], Path]] = {
    "newest segment": newest("*.log"),
    "newest index": newest("*.index"),
    "old index": oldest("*.index"),
    "newest time index": newest("*.timeindex"),
    "old time index": oldest("*.timeindex"),
    "producer snapshot": newest("*.snapshot"),
    "leader epochs": named("t-0/leader-epoch-checkpoint"),
    "partition.metadata": named("t-0/partition.metadata"),
    "meta.properties": named("meta.properties"),
    "recovery points": named("recovery-point-offset-checkpoint"),
    "log starts": named("log-start-offset-checkpoint"),
    "high watermarks": named("replication-offset-checkpoint"),
    "clean shutdown": named(MARKER),
    "quorum state": named("__cluster_metadata-0/quorum-state"),
    "metadata log": named("__cluster_metadata-0/00000000000000000000.log"),
}
SILENT = {
    "newest index",
    "old index",
    "newest time index",
    "old time index",
    "producer snapshot",
    "clean shutdown",
}
"""Built anew from the batches, or without a meaning of their own: nobody needs to hear of it."""


@pytest.fixture(params=["stopped", "killed"])
def log_dir(request: pytest.FixtureRequest, written: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(written, copy)
    if request.param == "killed":
        (copy / MARKER).unlink()
    return copy


def flip(path: Path, place: float) -> bool:
    """Whether it hit the last batch of a segment."""
    raw = bytearray(path.read_bytes())
    at = min(len(raw) - 1, int(len(raw) * place))
    raw[at] ^= 1 << (at % 7)
    path.write_bytes(raw)
    return path.suffix == ".log" and at > len(raw) - 200


def served(log_dir: Path) -> tuple[int, int, dict[int, bytes | None]] | str:
    """(start, end, records), or the refusal."""
    try:
        with Broker(data_dir=log_dir) as broker, RawClient(broker.port) as client:
            start, end = offset_at(client, "t", -2), offset_at(client, "t")
            return start, end, {record.offset: record.value for record in read_all(client, "t")}
    except StorageError as refusal:
        return str(refusal)


@pytest.mark.parametrize("place", [0.15, 0.5, 0.97], ids=["front", "middle", "end"])
@pytest.mark.parametrize("kind", [kind for kind in FILES if "segment" not in kind])
def test_a_flipped_bit_is_repaired_or_refused_with_a_word(
    log_dir: Path, broker_log: Lines, kind: str, place: float
) -> None:
    path = FILES[kind](log_dir)
    if not path.exists():  # the mark of the clean stop, of a broker that was killed
        return
    flip(path, place)
    found = served(log_dir)
    if isinstance(found, str):
        assert path.name in found
        assert "damaged" in found or "at " in found
        return
    everything = {number: value_of(number) for number in range(START, RECORDS)}
    assert found == (START, RECORDS, everything)
    assert kind in SILENT or any(path.name in line for line in broker_log.text)


@pytest.mark.parametrize("place", [0.15, 0.5, 0.97], ids=["front", "middle", "end"])
def test_a_flipped_bit_in_the_newest_segment_loses_nothing_in_silence(
    log_dir: Path, broker_log: Lines, place: float
) -> None:
    """Of the newest batch a start takes note; of one further down, whoever reads it."""
    is_last = flip(FILES["newest segment"](log_dir), place)
    with Broker(data_dir=log_dir) as broker, RawClient(broker.port) as client:
        assert (offset_at(client, "t", -2), offset_at(client, "t")) == (START, RECORDS)
    assert is_last == any("LOST: " in line for line in broker_log.text)

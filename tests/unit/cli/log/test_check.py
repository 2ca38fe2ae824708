"""`tidelog log check` on log dirs that are whole, torn, or damaged in any of their files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.ids import uuid_text
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.metadata.store.quorum_state import write_state
from tidelog.raft.ready import HardState
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.files import HIGH_WATERMARKS, RECOVERY_POINTS, LogDirFiles, LogDirIdentity
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch

NOW = 1_700_000_000_000
RECORDS = 40
CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=300, retention_ms=-1)
IDENTITY = LogDirIdentity(uuid_text(b"c" * 16), 1, uuid_text(b"d" * 16))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions as a clean stop leaves them, and the vote of a quorum."""
    log_dir = tmp_path_factory.mktemp("written") / "data"
    disk = PosixDisk()
    directory = LogDirFiles.open(disk, str(log_dir), IDENTITY)
    for index in range(2):
        path = directory.create_partition("orders", index, bytes(range(16)))
        log = PartitionLog.open(disk, path, CONFIG, now_ms=NOW, recovery_point=0)
        for number in range(RECORDS):
            batch = write_batch(
                [Record(0, NOW + number, b"k", bytes(60))],
                producer_id=7,
                producer_epoch=0,
                base_sequence=number,
            )
            log.append(memoryview(batch), check_batches(batch), leader_epoch=number // 15, now_ms=NOW)
        log.close(clean=True)
    offsets = {("orders", index): RECORDS for index in range(2)}
    directory.write_checkpoint(RECOVERY_POINTS, offsets)
    directory.write_checkpoint(HIGH_WATERMARKS, offsets)
    disk.make_dirs(f"{log_dir}/__cluster_metadata-0")
    write_state(disk, f"{log_dir}/__cluster_metadata-0", HardState(3, 1))
    directory.close(clean=True)
    return log_dir


@pytest.fixture
def data(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "data"))


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 2
    path.write_bytes(raw)


def newest(log_dir: Path, pattern: str) -> Path:
    return max(log_dir.glob(pattern))


def test_a_whole_log_dir(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "check", str(data)]) == Exit.OK
    [summary] = capsys.readouterr().out.splitlines()
    assert summary.startswith("2 partitions, ")
    assert "80 records" in summary
    assert summary.endswith(": all whole")
    assert run(["log", "check", str(data), "--verbose"]) == Exit.OK
    assert "orders-1: " in capsys.readouterr().out


DAMAGE: dict[str, Callable[[Path], Path]] = {
    "a batch": lambda data: newest(data / "orders-1", "*.log"),
    "an old batch": lambda data: min((data / "orders-1").glob("*.log")),
    "an index": lambda data: min((data / "orders-1").glob("*.index")),
    "a producer snapshot": lambda data: newest(data / "orders-1", "*.snapshot"),
    "leader epochs": lambda data: data / "orders-1" / "leader-epoch-checkpoint",
    "partition.metadata": lambda data: data / "orders-1" / "partition.metadata",
    "meta.properties": lambda data: data / "meta.properties",
    "recovery points": lambda data: data / RECOVERY_POINTS,
    "high watermarks": lambda data: data / HIGH_WATERMARKS,
    "quorum state": lambda data: data / "__cluster_metadata-0" / "quorum-state",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_one_flipped_bit_is_found_and_named(
    data: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    path = DAMAGE[what](data)
    flip(path, path.stat().st_size // 2)
    assert run(["log", "check", str(data)]) == Exit.FAILED
    shown = capsys.readouterr().out
    assert path.name in shown
    assert shown.splitlines()[-1].endswith("1 damaged directory")


def test_json_has_a_line_for_each_log_dir_and_a_summary(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(newest(data / "orders-0", "*.log"), 70)
    assert run(["log", "check", str(data), "--json"]) == Exit.FAILED
    *log_dirs, summary = map(json.loads, capsys.readouterr().out.splitlines())
    damaged = {Path(log_dir["path"]).name: log_dir["damage"] for log_dir in log_dirs if log_dir["damage"]}
    assert damaged.keys() == {"orders-0"}
    assert summary["kind"] == "summary"
    assert (summary["partitions"], summary["damaged_folders"]) == (2, 1)


def test_one_partition_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(newest(data / "orders-0", "*.log"), 70)
    assert run(["log", "check", str(data / "orders-1")]) == Exit.OK
    assert run(["log", "check", str(data / "orders-0")]) == Exit.FAILED
    assert "1 partitions" in capsys.readouterr().out


def test_the_torn_write_of_a_killed_broker_is_no_damage(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    path = newest(data / "orders-0", "*.log")
    path.write_bytes(path.read_bytes() + b"torn")
    assert run(["log", "check", str(data)]) == Exit.OK
    assert "a torn write" in capsys.readouterr().out


def test_a_log_that_lost_its_end(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest(data / "orders-0", "*.log").write_bytes(b"")
    assert run(["log", "check", str(data)]) == Exit.FAILED
    assert "knows it up to 40" in capsys.readouterr().out


def test_a_partition_that_is_gone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(data / "orders-1")
    assert run(["log", "check", str(data)]) == Exit.FAILED
    assert "the directory orders-1 is gone" in capsys.readouterr().out


def test_what_an_earlier_start_lost_is_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = newest(data / "orders-0", "*.log")
    flip(path, path.stat().st_size - 3)
    log = PartitionLog.open(
        PosixDisk(), str(data / "orders-0"), CONFIG, now_ms=NOW, clean=True, recovery_point=RECORDS
    )
    log.close(clean=True)
    assert run(["log", "check", str(data)]) == Exit.FAILED
    shown = capsys.readouterr().out
    assert "records of the offsets 39 to 39 are lost" in shown
    assert ".damaged-" in shown


def test_a_running_broker_is_not_checked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = PosixDisk().lock(str(data / ".lock"))
    try:
        assert run(["log", "check", str(data)]) == Exit.FAILED
        assert "stop the broker first" in capsys.readouterr().err
    finally:
        lock.release()


@pytest.mark.parametrize("name", ["nothing", "missing"])
def test_log_dirs_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "nothing").mkdir()
    assert run(["log", "check", str(tmp_path / name)]) == Exit.NOT_FOUND
    assert str(tmp_path / name) in capsys.readouterr().err


def test_a_dump_of_a_log_dir_says_what_to_pass(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(data)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "3 partitions" in said
    assert f"tidelog log check {data}" in said
    assert "orders-0" in said


def test_the_cores_of_a_machine_have_log_dirs_below_that_of_the_first(
    written: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = Path(shutil.copytree(written, data / "cores" / "1"))
    assert run(["log", "check", str(data)]) == Exit.OK
    assert capsys.readouterr().out.startswith("4 partitions, ")
    flip(next((second / "orders-1").glob("*.log")), 100)
    assert run(["log", "check", str(data)]) == Exit.FAILED
    assert str(second / "orders-1") in capsys.readouterr().out
    assert run(["doctor", "--data", str(data)]) == 2
    assert str(second / "orders-1") in capsys.readouterr().out

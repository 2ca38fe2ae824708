"""`tidelog log dump` on files that are whole, torn, damaged, or not what their name says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.producers.producers import Producer, Producers, WrittenBatch
from tidelog.storage.producers.snapshot import encode
from tidelog.storage.segment.offset_index import OffsetIndex
from tidelog.storage.segment.time_index import TimeIndex
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch

NOW_MS = 1_700_000_000_000
SEGMENT = "00000000000000000100.log"


def batch(first: int, values: list[bytes | None], codec: Codec = Codec.NONE) -> bytes:
    records = [
        Record(first + number, NOW_MS + number, b"k", value, [("h", b"x")])
        for number, value in enumerate(values)
    ]
    return bytes(write_batch(records, base_offset=first, codec=codec))


@pytest.fixture
def batches() -> list[bytes]:
    return [batch(100, [b"a", None]), batch(102, [b"c"] * 50, Codec.ZSTD), batch(152, [b"\xff"])]


@pytest.fixture
def segment(tmp_path: Path, batches: list[bytes]) -> Path:
    path = tmp_path / SEGMENT
    path.write_bytes(b"".join(batches))
    return path


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(path: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
        code = run(["log", "dump", str(path), "--json", *options])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [line["kind"] for line in lines]


def test_a_whole_segment(segment: Path, dump: Any) -> None:
    code, lines = dump(segment)
    assert code == Exit.OK
    assert kinds(lines) == ["heading", "batch", "batch", "batch", "summary"]
    first, second = lines[1], lines[2]
    assert (first["base_offset"], first["last_offset"], first["codec"], first["crc_ok"]) == (
        100,
        101,
        "none",
        True,
    )
    assert (second["position"], second["records"], second["codec"]) == (first["size"], 50, "zstd")
    assert lines[-1] | {"file": ""} == {
        "file": "",
        "kind": "summary",
        "batches": 3,
        "records": 53,
        "damaged_regions": 0,
        "bytes": segment.stat().st_size,
    }


def test_records_of_every_batch(segment: Path, dump: Any) -> None:
    _, lines = dump(segment, "--records")
    records = [line for line in lines if line["kind"] == "record"]
    assert [record["offset"] for record in records] == list(range(100, 153))
    assert (records[0]["key"], records[0]["value"], records[0]["headers"]) == ("k", "a", [["h", "x"]])
    assert records[1]["value"] is None
    assert records[-1]["value"] == {"base64": "/w=="}


def test_the_table_for_people(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(segment), "--records"]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["Position", "Bytes", "First", "Last"]
    assert lines[2].split() == ["100", "2023-11-14T22:13:20.000Z", "k:", "a", "h=x"]
    assert lines[-1].endswith("all whole")


def test_count_stops_early(segment: Path, dump: Any) -> None:
    _, lines = dump(segment, "--count", "2")
    assert kinds(lines) == ["heading", "batch", "batch"]


def test_a_flipped_bit_is_found_and_does_not_hide_what_follows(
    segment: Path, batches: list[bytes], dump: Any
) -> None:
    raw = bytearray(segment.read_bytes())
    raw[len(batches[0]) + 70] ^= 1
    segment.write_bytes(raw)
    code, lines = dump(segment)
    assert code == Exit.FAILED
    assert kinds(lines) == ["heading", "batch", "damage", "batch", "summary"]
    assert (lines[2]["position"], lines[2]["size"]) == (len(batches[0]), len(batches[1]))
    assert lines[2]["why"] == "wrong CRC"


def test_a_torn_tail_is_found(segment: Path, batches: list[bytes], dump: Any) -> None:
    segment.write_bytes(segment.read_bytes()[:-3])
    code, lines = dump(segment)
    assert code == Exit.FAILED
    assert kinds(lines) == ["heading", "batch", "batch", "torn", "summary"]
    assert lines[3]["position"] == len(batches[0]) + len(batches[1])


def test_reserved_space_is_no_damage(segment: Path, dump: Any) -> None:
    segment.write_bytes(segment.read_bytes() + bytes(4096))
    code, lines = dump(segment)
    assert code == Exit.OK
    assert kinds(lines)[-2:] == ["reserved", "summary"]


def test_records_that_lie_are_damage_too(tmp_path: Path, dump: Any) -> None:
    from tidelog.wire.batch import patch_crc

    raw = bytearray(batch(0, [b"abc", b"def"]))
    raw[61] ^= 0x40  # the first record's length; the CRC is made to fit
    patch_crc(raw, 0)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(raw)
    assert dump(path)[0] == Exit.OK
    code, lines = dump(path, "--records")
    assert code == Exit.FAILED
    assert kinds(lines) == ["heading", "batch", "damage", "summary"]


def test_control_batches_say_what_they_are(tmp_path: Path, dump: Any) -> None:
    marker = write_control_batch(
        ControlType.COMMIT,
        producer_id=7,
        producer_epoch=1,
        base_offset=0,
        timestamp=NOW_MS,
        coordinator_epoch=3,
    )
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(marker)
    _, lines = dump(path, "--records")
    assert lines[1]["control"] is True
    assert lines[2]["control"] == "commit"


def test_a_directory_means_all_its_segments(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (segment.parent / "00000000000000000153.log").write_bytes(batch(153, [b"z"]))
    assert run(["log", "dump", str(segment.parent)]) == Exit.OK
    out = capsys.readouterr().out
    assert out.index(SEGMENT) < out.index("00000000000000000153.log")


def test_an_offset_index_is_compared_with_its_segment(segment: Path, batches: list[bytes], dump: Any) -> None:
    index = OffsetIndex(100)
    index.add(151, len(batches[0]))
    index.add(152, len(batches[0]) + len(batches[1]))
    path = segment.with_suffix(".index")
    path.write_bytes(index.dump() + bytes(80))  # Kafka reserves an index's full size
    code, lines = dump(path)
    assert code == Exit.OK
    assert [(line["offset"], line["why"]) for line in lines[1:]] == [(151, None), (152, None)]
    index.add(160, 1_000_000)
    path.write_bytes(index.dump() + b"\x01")
    code, lines = dump(path)
    assert code == Exit.FAILED
    assert "is not in the segment" in lines[3]["why"]
    assert "not a multiple of 8" in lines[4]["why"]


def test_a_time_index_must_rise(tmp_path: Path, dump: Any) -> None:
    index = TimeIndex(100)
    index.add(NOW_MS, 101)
    index.add(NOW_MS + 5, 150)
    path = tmp_path / "00000000000000000100.timeindex"
    path.write_bytes(index.dump())
    code, lines = dump(path)
    assert code == Exit.OK
    assert [(line["timestamp"], line["offset"]) for line in lines[1:]] == [(NOW_MS, 101), (NOW_MS + 5, 150)]
    path.write_bytes(index.dump()[12:] + index.dump()[:12])
    assert dump(path)[0] == Exit.FAILED


def test_producer_snapshots(tmp_path: Path, dump: Any) -> None:
    producers = Producers(153)
    producer = Producer(2, last_timestamp=NOW_MS)
    producer.batches.append(WrittenBatch(9, 152, 3, NOW_MS))
    producers.put(77, producer)
    path = tmp_path / "00000000000000000153.snapshot"
    path.write_bytes(encode(producers))
    code, lines = dump(path)
    assert code == Exit.OK
    assert (lines[1]["producer_id"], lines[1]["epoch"], lines[1]["last_sequence"]) == (77, 2, 9)
    path.write_bytes(encode(producers)[:-1] + b"\x00")
    assert dump(path)[0] == Exit.FAILED


def test_leader_epochs(tmp_path: Path, dump: Any) -> None:
    epochs = LeaderEpochs()
    epochs.assign(0, 0)
    epochs.assign(4, 100)
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(epochs.dump())
    code, lines = dump(path)
    assert code == Exit.OK
    assert [(line["epoch"], line["start_offset"]) for line in lines[1:]] == [(0, 0), (4, 100)]
    path.write_text("0\n5\n1 1\n")
    assert dump(path)[0] == Exit.FAILED


def test_checkpoints(tmp_path: Path, dump: Any) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text("0\n2\norders 0 152\norders 1 7\n")
    code, lines = dump(path)
    assert code == Exit.OK
    assert [line["offset"] for line in lines[1:]] == [152, 7]
    path.write_text("0\n1\norders zero 152\n")
    assert dump(path)[0] == Exit.FAILED


def test_a_dump_changes_nothing(segment: Path, dump: Any) -> None:
    segment.chmod(0o400)
    before = segment.read_bytes()
    assert dump(segment)[0] == Exit.OK
    assert segment.read_bytes() == before
    assert PosixDisk().names(str(segment.parent)) == [SEGMENT]


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(tmp_path / "00000000000000000000.log")]) == Exit.NOT_FOUND
    assert run(["log", "dump", str(tmp_path)]) == Exit.NOT_FOUND
    assert "holds no .log file" in capsys.readouterr().err


def test_a_name_that_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(tmp_path / "nope")]) == Exit.NOT_FOUND
    assert "There is no file" in capsys.readouterr().err
    (tmp_path / "partition.metadata").write_text("version: 0")
    assert run(["log", "dump", str(tmp_path / "partition.metadata")]) == Exit.USAGE
    assert "is not a file that this command reads" in capsys.readouterr().err

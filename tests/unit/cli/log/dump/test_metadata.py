"""`tidelog log dump` on the files of the metadata quorum, as the store writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.ids import uuid_text
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ClusterCreated, TopicCreated
from tidelog.metadata.image.security_records import AclCreated, AclText
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Configuration, Entry, EntryKind, Voter
from tidelog.raft.ready import HardState, Ready

NOW_MS = 1_700_000_000_000
RECORDS = [ClusterCreated("c"), TopicCreated("orders", uuid_text(b"i" * 16))]
VOTERS = Configuration((Voter(1, "a:9092", b"s" * 16), Voter(2, "b:9092")))
ENTRIES = [
    Entry(3, EntryKind.NOOP),
    Entry(3, EntryKind.DATA, encode_decision(RECORDS)),
    Entry(4, EntryKind.CONFIG, VOTERS.encode()),
]


@pytest.fixture
def metadata_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)
    path = tmp_path / "__cluster_metadata-0"
    store = QuorumStore.open(PosixDisk(), str(path))
    write = store.begin(Ready(hard_state=HardState(4, 2), entries=ENTRIES), NOW_MS)
    assert write is not None
    write.run()
    store.finish(write)
    snapshot = store.begin_snapshot(advance(ClusterImage(), RECORDS).after, 1, 3, VOTERS, NOW_MS)
    assert snapshot is not None
    snapshot.run()
    assert store.finish_snapshot(snapshot)
    return path


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(path: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
        code = run(["log", "dump", str(path), "--json", *options])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def test_entries_show_kind_term_and_records(metadata_dir: Path, dump: Any) -> None:
    code, lines = dump(metadata_dir, "--records")
    assert code == Exit.OK
    noop, data, config = [line for line in lines if line["kind"] == "entry"]
    assert (noop["index"], noop["entry_kind"], noop["term"], noop["synced_below"]) == (0, "noop", 3, 0)
    assert (data["index"], data["entry_kind"]) == (1, "data")
    assert [record["type"] for record in data["records"]] == ["cluster-created", "topic-created"]
    assert (config["entry_kind"], config["term"]) == ("config", 4)
    assert [voter["id"] for voter in config["configuration"]["voters"]] == [1, 2]
    assert [line["record"]["type"] for line in lines if line["kind"] == "metadata"] == [
        "cluster-created",
        "topic-created",
    ]


def test_entries_for_people(metadata_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(metadata_dir), "--records"]) == Exit.OK
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "2023-11-14T22:13:20.000Z", "noop", "term", "3"] in lines
    assert ["1", "2023-11-14T22:13:20.000Z", "data", "term", "3"] in lines
    assert ['{"type":"cluster-created","cluster_id":"c"}'] in lines


def test_acls_are_shown_in_kafkas_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acl = AclText("TOPIC", "PREFIXED", "orders.", "User:reports", "*", "READ", "ALLOW")
    store = QuorumStore.open(PosixDisk(), str(tmp_path / "__cluster_metadata-0"))
    entry = Entry(3, EntryKind.DATA, encode_decision([AclCreated(acl)]))
    write = store.begin(Ready(hard_state=HardState(3, 1), entries=[entry]), NOW_MS)
    assert write is not None
    write.run()
    store.finish(write)
    assert run(["log", "dump", str(tmp_path / "__cluster_metadata-0"), "--records"]) == Exit.OK
    line = next(line for line in capsys.readouterr().out.splitlines() if "acl-created" in line)
    for word in ("TOPIC", "PREFIXED", "orders.", "User:reports", "READ", "ALLOW"):
        assert f'"{word}"' in line


def test_entry_without_json_is_damage(metadata_dir: Path, dump: Any) -> None:
    store = QuorumStore.open(PosixDisk(), str(metadata_dir))
    write = store.begin(Ready(first_index=3, entries=[Entry(4, EntryKind.DATA, b"junk")]), NOW_MS)
    assert write is not None
    write.run()
    store.finish(write)
    assert dump(metadata_dir)[0] == Exit.OK
    assert dump(metadata_dir, "--records")[0] == Exit.FAILED


def test_record_of_an_application_is_no_entry(tmp_path: Path, dump: Any) -> None:
    from tidelog.wire.record import Record, write_batch

    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(write_batch([Record(0, NOW_MS, b"data", b"x", [("term", b"1")])]))
    _, lines = dump(path, "--records")
    assert [line["kind"] for line in lines] == ["heading", "batch", "record", "summary"]


def test_snapshot(metadata_dir: Path, dump: Any) -> None:
    path = metadata_dir / "00000000000000000001-0000000003.checkpoint"
    code, lines = dump(path)
    assert code == Exit.OK
    snapshot, summary = lines
    assert (snapshot["index"], snapshot["term"], snapshot["topics"]) == (1, 3, 1)
    assert [voter["address"] for voter in snapshot["configuration"]["voters"]] == ["a:9092", "b:9092"]
    assert summary["records"] == 2
    _, lines = dump(path, "--records")
    assert [line["record"]["type"] for line in lines[1:-1]] == ["cluster-created", "topic-created"]
    raw = bytearray(path.read_bytes())
    raw[-5] ^= 1
    path.write_bytes(raw)
    code, lines = dump(path)
    assert code == Exit.FAILED
    assert "wrong CRC" in lines[0]["why"]


def test_snapshot_for_people(metadata_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(metadata_dir / "00000000000000000001-0000000003.checkpoint")]) == Exit.OK
    first, last = capsys.readouterr().out.splitlines()
    assert first == "snapshot up to index 1, term 3: topics 1, brokers 0, voters 1@a:9092,2@b:9092"
    assert last.endswith("all whole")


def test_term_and_vote(metadata_dir: Path, dump: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = metadata_dir / "quorum-state"
    code, lines = dump(path)
    assert code == Exit.OK
    assert (lines[0]["term"], lines[0]["voted_for"]) == (4, 2)
    assert run(["log", "dump", str(path)]) == Exit.OK
    assert capsys.readouterr().out == "term 4, voted for 2\n"
    path.write_bytes(path.read_bytes().replace(b"4", b"5", 1))
    assert dump(path)[0] == Exit.FAILED

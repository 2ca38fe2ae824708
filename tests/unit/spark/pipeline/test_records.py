"""What is kept about pipelines: a lock that the system holds, a status, and the wish to stop."""

import fcntl
from pathlib import Path

import pytest

from tidelog.spark.pipeline.records import AlreadyRuns, PipelineRecord, records


def test_a_run_is_seen_while_it_lasts_and_a_second_is_refused(tmp_path: Path) -> None:
    record = PipelineRecord(tmp_path, "revenue")
    assert not record.is_running
    with record.running():
        record.write_status({"pid": 7})
        other = PipelineRecord(tmp_path, "revenue")
        assert other.is_running
        with pytest.raises(AlreadyRuns, match="'revenue' runs already, as process 7"), other.running():
            pass
        assert other.is_running
    assert not record.is_running


def test_who_only_looks_stops_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = PipelineRecord(tmp_path, "revenue")
    with record.running():
        pass
    with open(record.directory / "lock") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        with record.running():
            assert record.is_running


def test_a_wish_to_stop_is_for_the_run_it_was_made_in(tmp_path: Path) -> None:
    record = PipelineRecord(tmp_path, "revenue")
    with record.running():
        assert not record.is_asked_to_stop
        record.ask_to_stop()
        assert record.is_asked_to_stop
    with record.running():
        assert not record.is_asked_to_stop


def test_status_of_none_and_of_a_damaged_file_is_empty(tmp_path: Path) -> None:
    record = PipelineRecord(tmp_path, "revenue")
    assert record.status() == {}
    record.directory.mkdir()
    (record.directory / "status.json").write_text("{")
    assert record.status() == {}
    assert [found.name for found in records(tmp_path)] == ["revenue"]

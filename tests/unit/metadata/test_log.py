import os
from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import uuid_text
from tidelog.base.invariant import InvariantError
from tidelog.metadata import log as log_module
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.log import MetadataLog
from tidelog.metadata.records import (
    ClusterCreated,
    ConfigChanged,
    NewerFormatError,
    ProducerIdsAllocated,
    ResourceKind,
    TopicCreated,
)

NOW = 1_700_000_000_000


def topic(number):
    return TopicCreated(f"topic-{number}", uuid_text(number.to_bytes(16, "big")))


class Folder:
    """A metadata log on a real disk that can be opened again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> MetadataLog:
        return MetadataLog.open(PosixDisk(), str(self.path), NOW)

    def reopened_image(self) -> ClusterImage:
        return self.open().image

    def files(self, suffix):
        return sorted(self.path.glob(f"*{suffix}"))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "data" / "__cluster_metadata-0")


@pytest.fixture
def small_snapshots(monkeypatch):
    monkeypatch.setattr(log_module, "SNAPSHOT_AFTER_RECORDS", 5)


def fill(log, first, last):
    for number in range(first, last):
        log.submit([topic(number)], NOW)


def test_new_log_is_empty(folder):
    log = folder.open()
    assert log.image == ClusterImage()
    assert log.end == 0


@pytest.mark.parametrize("close", [True, False])
def test_what_was_applied_is_there_after_a_restart(folder, close):
    log = folder.open()
    log.submit([ClusterCreated("c"), topic(1)], NOW)
    delta = log.submit([topic(2)], NOW)
    assert [created.name for created in delta.topics_created] == ["topic-2"]
    assert log.end == 3
    if close:
        log.close()
    again = folder.open()
    assert again.image == log.image
    assert again.end == 3


def test_image_moves_only_when_applied(folder):
    log = folder.open()
    commit = log.stage([topic(1)], NOW)
    assert log.image.topics == {}
    commit.run()
    assert log.image.topics == {}
    log.apply(commit)
    assert set(log.image.topics) == {"topic-1"}


def test_records_that_do_not_fit_are_not_written(folder):
    log = folder.open()
    log.submit([topic(1)], NOW)
    with pytest.raises(InvariantError):
        log.stage([topic(2), topic(1)], NOW)
    assert log.end == 1
    log.submit([topic(2)], NOW)
    assert set(folder.reopened_image().topics) == {"topic-1", "topic-2"}


def test_one_commit_at_a_time(folder):
    log = folder.open()
    commit = log.stage([topic(1)], NOW)
    with pytest.raises(InvariantError):
        log.apply(commit)  # it has not run
    commit.run()
    with pytest.raises(InvariantError):
        log.stage([topic(2)], NOW)  # it is durable and must be applied first


def test_commit_that_never_ran_is_withdrawn(folder):
    log = folder.open()
    log.submit([topic(0)], NOW)
    given_up = log.stage([topic(1), topic(2)], NOW)
    log.submit([topic(1)], NOW)
    assert log.end == 2
    with pytest.raises(InvariantError):
        log.apply(given_up)
    again = folder.open()
    assert again.image == log.image
    assert set(again.image.topics) == {"topic-0", "topic-1"}


def test_commit_that_never_ran_is_withdrawn_with_its_snapshot(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 5)
    log.stage([topic(5)], NOW)
    fill(log, 5, 30)
    assert folder.reopened_image() == log.image
    assert len(log.image.topics) == 30


def test_too_large_a_change_is_refused_and_the_log_goes_on(folder, monkeypatch):
    monkeypatch.setattr(log_module, "BATCH_BYTES_MAX", 1000)
    log = folder.open()
    with pytest.raises(KafkaError) as caught:
        log.submit([ConfigChanged(ResourceKind.BROKER, "", "k", "v" * 1000)], NOW)
    assert caught.value.code == ErrorCode.POLICY_VIOLATION
    log.submit([topic(1)], NOW)
    assert set(folder.reopened_image().topics) == {"topic-1"}


def test_snapshots_replace_the_log_below_them(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 40)
    assert len(folder.files(".checkpoint")) == 2
    oldest = int(folder.files(".checkpoint")[0].stem)
    assert oldest > 20
    assert int(folder.files(".log")[0].stem) == oldest
    again = folder.open()
    assert again.image == log.image
    assert again.end == 40
    fill(again, 40, 60)
    assert set(folder.reopened_image().topics) == {f"topic-{number}" for number in range(60)}


def test_damaged_snapshot_is_passed_over(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 23)
    newest = folder.files(".checkpoint")[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    assert folder.reopened_image() == log.image


def test_first_snapshot_damaged_leaves_the_whole_log(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 7)
    (only,) = folder.files(".checkpoint")
    only.write_bytes(b"")
    assert folder.reopened_image() == log.image


def test_no_readable_snapshot_refuses_to_start(folder, small_snapshots):
    fill(folder.open(), 0, 23)
    for file in folder.files(".checkpoint"):
        file.write_bytes(b"junk" * 100)
    with pytest.raises(StorageError, match=r"begins at offset \d+, and no readable snapshot"):
        folder.open()


def test_snapshot_left_half_written_by_a_crash_is_ignored(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 7)
    (folder.path / "00000000000000000007.checkpoint.tmp").write_bytes(b"half")
    assert folder.reopened_image() == log.image


def test_failed_snapshot_costs_nothing_but_time(folder, small_snapshots, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tidelog.metadata.snapshot_files.replace_file", full)
    log = folder.open()
    fill(log, 0, 12)
    assert folder.files(".checkpoint") == []
    assert folder.reopened_image() == log.image


@pytest.mark.parametrize("cut", [1, 40, 60, 61, 62, 100])
def test_torn_tail_is_cut(folder, cut):
    log = folder.open()
    fill(log, 0, 3)
    (file,) = folder.files(".log")
    before = file.stat().st_size
    log.submit([topic(3)], NOW)
    os.truncate(file, before + cut)
    again = folder.open()
    assert set(again.image.topics) == {"topic-0", "topic-1", "topic-2"}
    again.submit([topic(3)], NOW)
    assert set(folder.reopened_image().topics) == {f"topic-{number}" for number in range(4)}


def test_tail_of_the_right_length_but_with_lost_pages_is_cut(folder):
    log = folder.open()
    fill(log, 0, 3)
    (file,) = folder.files(".log")
    before = file.stat().st_size
    log.submit([topic(3)], NOW)
    data = file.read_bytes()
    file.write_bytes(data[:before] + bytes(len(data) - before))
    assert folder.open().end == 3


def flip(file, position):
    data = bytearray(file.read_bytes())
    data[position] ^= 0x10
    file.write_bytes(data)


@pytest.mark.parametrize("inside", [7, 9, 16, 17, 40, 61, 80])
def test_damage_before_intact_records_refuses_to_start(folder, inside):
    """Base offset, length, magic, CRC, header, body."""
    log = folder.open()
    log.submit([topic(0)], NOW)
    (file,) = folder.files(".log")
    second = file.stat().st_size
    fill(log, 1, 4)
    flip(file, second + inside)
    with pytest.raises(StorageError, match=r"0\.log at (\d+): the metadata log is damaged") as caught:
        folder.open()
    message = str(caught.value)
    assert f"0.log at {second}" in message
    assert f"truncate -s {second}" in message
    assert "backup" in message


def test_the_remedy_works(folder):
    log = folder.open()
    log.submit([topic(0)], NOW)
    (file,) = folder.files(".log")
    second = file.stat().st_size
    fill(log, 1, 4)
    flip(file, second + 70)
    os.truncate(file, second)
    again = folder.open()
    assert set(again.image.topics) == {"topic-0"}
    assert again.end == 1


def test_missing_segment_refuses_to_start(folder, small_snapshots):
    fill(folder.open(), 0, 23)
    files = folder.files(".log")
    files[-2].rename(files[-2].with_suffix(".aside"))
    newest = folder.files(".checkpoint")[-1]
    newest.unlink()  # else the missing one would not be needed
    with pytest.raises(StorageError, match=r"begins at offset \d+"):
        folder.open()


def test_log_that_stops_where_its_snapshot_ends_refuses_to_start_until_it_is_moved_away(
    folder, small_snapshots
):
    fill(folder.open(), 0, 23)
    newest = int(folder.files(".checkpoint")[-1].stem)
    for file in folder.files(".log"):
        if int(file.stem) >= newest:
            file.unlink()
    with pytest.raises(StorageError, match=r"no file begins at \d+, where a snapshot ends"):
        folder.open()
    for file in folder.files(".log"):
        file.unlink()
    again = folder.open()
    assert len(again.image.topics) == again.end == newest
    again.submit([topic(1000)], NOW)
    assert "topic-1000" in folder.reopened_image().topics


def test_damage_below_the_snapshot_does_not_matter(folder, small_snapshots):
    log = folder.open()
    fill(log, 0, 23)
    newest = int(folder.files(".checkpoint")[-1].stem)
    old = next(file for file in folder.files(".log") if int(file.stem) < newest)
    flip(old, 70)
    assert folder.reopened_image() == log.image


def test_record_of_a_newer_version_refuses_to_start(folder, monkeypatch):
    log = folder.open()
    log.submit([topic(0)], NOW)
    monkeypatch.setattr(
        "tidelog.metadata.record_batches.encode_record", lambda _: b'{"type":"quota-set","name":"x"}'
    )
    log.submit([topic(1)], NOW)
    monkeypatch.undo()
    with pytest.raises(NewerFormatError, match=r"\.log at \d+: .*unknown type 'quota-set': a newer version"):
        folder.open()


def test_records_that_do_not_fit_together_refuse_to_start(folder, monkeypatch):
    log = folder.open()
    log.submit([ProducerIdsAllocated(1, 1000)], NOW)
    monkeypatch.setattr(
        "tidelog.metadata.record_batches.encode_record",
        lambda _: b'{"type":"producer-ids-allocated","broker_id":1,"next_producer_id":5}',
    )
    log.submit([topic(1)], NOW)
    monkeypatch.undo()
    with pytest.raises(StorageError, match=r"\.log at \d+: a metadata record does not fit"):
        folder.open()


def test_large_decision_is_one_batch_and_survives(folder):
    log = folder.open()
    records = [topic(number) for number in range(3000)]
    log.submit(records, NOW)
    assert folder.reopened_image() == advance(ClusterImage(), records).after

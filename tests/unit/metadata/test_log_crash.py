"""Power cuts and failing disks at every operation: what was acknowledged is there, what is there is whole."""

import errno

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import uuid_text
from tidelog.metadata import log as log_module
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.log import MetadataLog
from tidelog.metadata.records import ConfigChanged, PartitionCreated, ResourceKind, TopicCreated
from tidelog.testing.disk import MemoryDisk, PowerCut

FOLDER = "/data/__cluster_metadata-0"
NOW = 1_700_000_000_000
COMMITS = 14


@pytest.fixture(autouse=True)
def small_snapshots(monkeypatch):
    monkeypatch.setattr(log_module, "SNAPSHOT_AFTER_RECORDS", 12)


def new_disk(seed):
    disk = MemoryDisk(seed)
    disk.make_dirs("/data")
    disk.sync_dir("/")
    return disk


def commit_records(number):
    """A topic with two partitions and a setting: some of it alone would show as a torn commit."""
    topic_id = uuid_text((number + 1).to_bytes(16, "big"))
    name = f"topic-{number}"
    return [
        TopicCreated(name, topic_id),
        ConfigChanged(ResourceKind.TOPIC, name, "note", "x" * (number * 97 % 700)),
        PartitionCreated(topic_id, 0, (1,), (1,), 1),
        PartitionCreated(topic_id, 1, (1,), (1,), 1),
    ]


def work(disk, acknowledged):
    """Open and commit until all is done or the power goes."""
    log = MetadataLog.open(disk, FOLDER, NOW)
    for number in range(len(log.image.topics), COMMITS):
        log.submit(commit_records(number), NOW)
        acknowledged.append(number)
    return log.image


def check(image, acknowledged):
    present = [int(name.removeprefix("topic-")) for name in image.topics]
    assert present == list(range(len(present)))
    assert set(acknowledged) <= set(present)
    for topic in image.topics.values():
        assert len(topic.partitions) == 2
        assert set(topic.configs) == {"note"}


def count_operations():
    disk = new_disk(0)
    work(disk, [])
    return disk.operations


def test_power_cut_at_every_operation():
    for cut_at in range(2, count_operations() + 1):
        disk = new_disk(cut_at)
        disk.power_cut_at = cut_at
        acknowledged = []
        with pytest.raises(PowerCut):
            work(disk, acknowledged)
        disk.crash()
        check(MetadataLog.open(disk, FOLDER, NOW).image, acknowledged)
        final = work(disk, acknowledged)
        check(final, acknowledged)
        assert len(final.topics) == COMMITS
        disk.crash()
        assert MetadataLog.open(disk, FOLDER, NOW).image == final


@pytest.mark.parametrize("seed", range(12))
def test_power_cuts_again_and_again_also_during_recovery(seed):
    disk = new_disk(seed)
    acknowledged = []
    for round_ in range(40):
        disk.power_cut_at = disk.operations + 1 + (seed * 7 + round_ * 5) % 23
        try:
            work(disk, acknowledged)
            break
        except PowerCut:
            disk.crash()
    disk.power_cut_at = None
    check(work(disk, acknowledged), acknowledged)


def test_the_process_dies_without_the_machine():
    """What was written but not synced is still in the page cache, so it is replayed, and then must stay."""
    disk = new_disk(1)
    log = MetadataLog.open(disk, FOLDER, NOW)
    log.stage(commit_records(0), NOW)
    replayed = MetadataLog.open(disk, FOLDER, NOW).image
    assert set(replayed.topics) == {"topic-0"}
    disk.crash()
    assert MetadataLog.open(disk, FOLDER, NOW).image == replayed


@pytest.mark.parametrize("operation", ["write", "sync"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_disk_error_refuses_changes_keeps_the_image_and_heals_with_a_restart(operation, error):
    disk = new_disk(2)
    log = MetadataLog.open(disk, FOLDER, NOW)
    log.submit(commit_records(0), NOW)
    before = log.image
    disk.fail(operation, ".log", error=error)
    for _ in range(2):
        with pytest.raises(KafkaError) as caught:
            log.submit(commit_records(1), NOW)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert log.image is before
        assert log.offline is not None
    log.close()
    disk.heal()
    again = MetadataLog.open(disk, FOLDER, NOW)
    check(again.image, [0])
    number = len(again.image.topics)
    again.submit(commit_records(number), NOW)
    check(MetadataLog.open(disk, FOLDER, NOW).image, [0, number])


def test_full_disk_lets_the_snapshot_go_but_not_the_commit():
    disk = new_disk(3)
    disk.fail("write", ".checkpoint", error=errno.ENOSPC)
    acknowledged = []
    work(disk, acknowledged)
    assert acknowledged == list(range(COMMITS))
    assert not [name for name in disk.names(FOLDER) if name.endswith(".checkpoint")]
    disk.crash()
    check(MetadataLog.open(disk, FOLDER, NOW).image, acknowledged)


@pytest.mark.parametrize("operation", ["rename", "remove"])
def test_old_files_that_cannot_be_removed_do_no_harm(operation):
    disk = new_disk(4)
    log = MetadataLog.open(disk, FOLDER, NOW)
    number = 0
    while len([name for name in disk.names(FOLDER) if name.endswith(".checkpoint")]) < 2:
        log.submit(commit_records(number), NOW)
        number += 1
    disk.fail(operation, FOLDER)
    accepted = number
    try:
        for more in range(number, number + 10):
            log.submit(commit_records(more), NOW)
            accepted += 1
    except KafkaError:
        assert log.offline is not None
    disk.heal()
    disk.crash()
    check(MetadataLog.open(disk, FOLDER, NOW).image, range(accepted))


def test_read_error_at_start_is_passed_on():
    disk = new_disk(5)
    work(disk, [])
    disk.fail("read", ".log")
    with pytest.raises(OSError, match="Input/output"):
        MetadataLog.open(disk, FOLDER, NOW)


def test_empty_folder_after_a_crash_before_the_first_commit():
    disk = new_disk(6)
    disk.make_dirs(FOLDER)
    disk.crash()
    assert MetadataLog.open(disk, FOLDER, NOW).image == ClusterImage()

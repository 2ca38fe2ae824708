from pathlib import Path

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.storage.log_dir.files import LOG_STARTS, RECOVERY_POINTS, LogDirFiles, LogDirIdentity
from tidelog.storage.log_dir.partition_dir import PartitionDir, read_topic_id, write_topic_id
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

IDENTITY = LogDirIdentity("cluster", 1, "folder")
TOPIC_ID = bytes(range(16))


def test_a_new_directory_gets_its_identity_in_kafkas_words() -> None:
    disk = MemoryDisk()
    files = LogDirFiles.open(disk, "/data/", IDENTITY)
    raw = disk.open("/data/meta.properties").read_at(0, 1000)
    assert raw == b"version=1\ncluster.id=cluster\nnode.id=1\ndirectory.id=folder\n# crc32c 5ce43b96\n"
    assert files.path == "/data"
    assert not files.was_clean


@pytest.mark.parametrize("seed", range(10))
def test_a_new_log_dir_survives_a_crash_with_the_directories_above_it(seed: int) -> None:
    """That of a machine's second core is made together with the one for further cores."""
    disk = MemoryDisk(seed)
    LogDirFiles.open(disk, "/srv/data", IDENTITY)
    LogDirFiles.open(disk, "/srv/data/cores/1", IDENTITY)
    disk.crash()
    assert disk.exists("/srv/data/meta.properties")
    assert disk.exists("/srv/data/cores/1/meta.properties")


def test_the_identity_stays_and_another_brokers_log_dir_is_refused() -> None:
    disk = MemoryDisk()
    LogDirFiles.open(disk, "/data", IDENTITY).close(clean=True)
    again = LogDirFiles.open(disk, "/data", LogDirIdentity("", 1, "other"))
    assert again.identity == IDENTITY
    again.close(clean=False)
    with pytest.raises(StorageError, match="belongs to broker 1, this one is 2"):
        LogDirFiles.open(disk, "/data", LogDirIdentity("cluster", 2, "x"))
    with pytest.raises(StorageError, match="belongs to cluster cluster"):
        LogDirFiles.open(disk, "/data", LogDirIdentity("elsewhere", 1, "x"))
    LogDirFiles.open(disk, "/data", IDENTITY)  # the refusals have let go of the lock


@pytest.mark.parametrize(
    "raw", [b"", b"version=9\ncluster.id=c\nnode.id=1\n", b"node.id=1\n", b"\xff\xff", b"x"]
)
def test_an_identity_that_cannot_be_read_is_not_overwritten(raw: bytes) -> None:
    disk = MemoryDisk()
    disk.make_dirs("/data")
    disk.open("/data/meta.properties", create=True).write_at(0, [raw])
    with pytest.raises(StorageError, match=r"/data/meta\.properties"):
        LogDirFiles.open(disk, "/data", IDENTITY)


def test_a_directory_has_one_owner() -> None:
    disk = MemoryDisk()
    first = LogDirFiles.open(disk, "/data", IDENTITY)
    with pytest.raises(StorageError, match="/data is in use"):
        LogDirFiles.open(disk, "/data", IDENTITY)
    first.close(clean=False)
    LogDirFiles.open(disk, "/data", IDENTITY)


def test_a_real_directory_has_one_owner(tmp_path: Path) -> None:
    disk = PosixDisk()
    first = LogDirFiles.open(disk, str(tmp_path), IDENTITY)
    with pytest.raises(StorageError, match=f"{tmp_path} is in use by another broker"):
        LogDirFiles.open(disk, str(tmp_path), IDENTITY)
    first.close(clean=False)
    LogDirFiles.open(disk, str(tmp_path), IDENTITY).close(clean=False)


def test_a_clean_shutdown_is_believed_once() -> None:
    disk = MemoryDisk()
    LogDirFiles.open(disk, "/data", IDENTITY).close(clean=True)
    disk.crash()
    again = LogDirFiles.open(disk, "/data", IDENTITY)
    assert again.was_clean
    disk.crash()
    assert not LogDirFiles.open(disk, "/data", IDENTITY).was_clean


def test_partitions_are_directories_with_the_id_of_their_topic() -> None:
    disk = MemoryDisk()
    files = LogDirFiles.open(disk, "/data", IDENTITY)
    path = files.create_partition("my-topic", 12, TOPIC_ID)
    assert path == "/data/my-topic-12"
    assert (
        disk.open(f"{path}/partition.metadata").read_at(0, 100)
        == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\ncrc32c: 491ca7be\n"
    )
    assert read_topic_id(disk, path) == TOPIC_ID
    assert files.partitions() == [PartitionDir(path, "my-topic", 12, False)]


def test_other_names_in_the_directory_are_left_alone() -> None:
    disk = MemoryDisk()
    files = LogDirFiles.open(disk, "/data", IDENTITY)
    for name in ("lost+found", "topic", "topic-", "topic-x"):
        disk.make_dirs(f"/data/{name}")
    disk.open("/data/file-1", create=True)
    assert files.partitions() == []


def test_a_deleted_partition_stays_deleted_over_a_crash() -> None:
    disk = MemoryDisk()
    files = LogDirFiles.open(disk, "/data", IDENTITY)
    files.create_partition("topic", 0, TOPIC_ID)
    disk.sync_dir("/data")
    (partition,) = files.partitions()
    deleted = files.mark_deleted(partition, TOPIC_ID)
    disk.crash()
    (found,) = files.partitions()
    assert found == deleted
    assert found.is_deleted
    assert found.path == "/data/topic-0.AAECAwQFBgcICQoLDA0ODw-delete"
    assert files.mark_deleted(found, TOPIC_ID) is found
    files.remove(found)
    assert files.partitions() == []


def test_the_directory_of_a_long_topic_can_be_deleted_too() -> None:
    disk = MemoryDisk()
    files = LogDirFiles.open(disk, "/data", IDENTITY)
    files.create_partition("t" * 249, 0, TOPIC_ID)
    (partition,) = files.partitions()
    assert len(files.mark_deleted(partition, TOPIC_ID).path) <= len("/data/") + 255


@pytest.mark.parametrize("raw", [b"version: 0\n", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"topic"])
def test_a_topic_id_that_cannot_be_read_is_named(raw: bytes) -> None:
    disk = MemoryDisk()
    disk.make_dirs("/t-0")
    assert read_topic_id(disk, "/t-0") is None
    disk.open("/t-0/partition.metadata", create=True).write_at(0, [raw])
    with pytest.raises(StorageError, match=r"/t-0/partition\.metadata"):
        read_topic_id(disk, "/t-0")


def test_every_flipped_bit_of_an_identity_is_noticed() -> None:
    raw = IDENTITY.dump()
    for at in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        try:
            found = LogDirIdentity.load(bytes(flipped), "meta.properties")
        except StorageError:
            continue
        assert found == IDENTITY, at  # a letter of the comment, which means nothing by itself


def test_every_flipped_bit_of_a_topic_id_is_noticed() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/t-0")
    topic_id = bytes(range(16))
    write_topic_id(disk, "/t-0", topic_id)
    raw = disk.open("/t-0/partition.metadata").read_at(0, 1000)
    for at in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        disk.open("/t-0/partition.metadata").write_at(0, [flipped])
        with pytest.raises(StorageError, match="damaged"):
            read_topic_id(disk, "/t-0")


class TestCheckpoints:
    def test_are_kafkas_and_survive_a_crash(self) -> None:
        disk = MemoryDisk()
        files = LogDirFiles.open(disk, "/data", IDENTITY)
        assert files.read_checkpoint(RECOVERY_POINTS) == {}
        offsets = {("orders", 0): 1204, ("orders", 1): 977}
        files.write_checkpoint(RECOVERY_POINTS, offsets)
        disk.crash()
        raw = disk.open("/data/recovery-point-offset-checkpoint").read_at(0, 100)
        lines = raw.decode().splitlines()  # Kafka splits them at white space, as we do here
        assert [line.split() for line in lines] == [
            ["0"],
            ["2"],
            ["orders", "0", "1204"],
            ["orders", "1", "977"],
        ]
        assert files.read_checkpoint(RECOVERY_POINTS) == offsets
        assert files.read_checkpoint(LOG_STARTS) == {}

    @pytest.mark.parametrize(
        "raw", [b"", b"0\n", b"1\n0\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na x 1\n"]
    )
    def test_that_cannot_be_read_are_named(self, raw: bytes) -> None:
        disk = MemoryDisk()
        files = LogDirFiles.open(disk, "/data", IDENTITY)
        disk.open(f"/data/{LOG_STARTS}", create=True).write_at(0, [raw])
        with pytest.raises(StorageError, match=f"/data/{LOG_STARTS}"):
            files.read_checkpoint(LOG_STARTS)

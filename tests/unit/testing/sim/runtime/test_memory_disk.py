import errno

import pytest

from tidelog.base.ports import read_file, replace_file
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut


def written(disk: MemoryDisk, path: str, data: bytes, *, sync: bool = True) -> None:
    file = disk.open(path, create=True)
    file.write_at(0, [data])
    if sync:
        file.sync()
        disk.sync_dir("/")


def test_reads_what_was_written_at_any_position() -> None:
    disk = MemoryDisk()
    file = disk.open("/f", create=True)
    assert file.write_at(3, [b"ab", b"cd"]) == 4
    assert file.read_at(0, 100) == b"\0\0\0abcd"
    file.truncate(4)
    assert (file.size(), disk.size("/f")) == (4, 4)


def test_an_open_file_outlives_its_name() -> None:
    disk = MemoryDisk()
    written(disk, "/f", b"data")
    file = disk.open("/f")
    disk.remove("/f")
    assert not disk.exists("/f")
    assert file.read_at(0, 4) == b"data"


def test_what_was_synced_survives_every_crash() -> None:
    for seed in range(50):
        disk = MemoryDisk(seed)
        written(disk, "/f", b"old" * 400)
        file = disk.open("/f")
        file.write_at(1200, [b"new" * 400])
        disk.crash()
        assert (read_file(disk, "/f") or b"")[:1200] == b"old" * 400


def test_what_was_not_synced_survives_in_every_way() -> None:
    outcomes = set()
    for seed in range(100):
        disk = MemoryDisk(seed)
        written(disk, "/f", b"")
        file = disk.open("/f")
        file.write_at(0, [b"a" * 512])
        file.write_at(512, [b"b" * 512])
        disk.crash()
        outcomes.add(read_file(disk, "/f"))
    assert {b"", b"a" * 512, b"a" * 512 + b"b" * 512, bytes(512) + b"b" * 512} <= outcomes


def test_a_name_is_certain_only_after_its_directory_was_synced() -> None:
    found = set()
    for seed in range(30):
        disk = MemoryDisk(seed)
        disk.open("/f", create=True).sync()
        disk.crash()
        found.add(disk.exists("/f"))
    assert found == {True, False}


def test_changes_to_a_directory_survive_in_their_order() -> None:
    for seed in range(30):
        disk = MemoryDisk(seed)
        written(disk, "/a", b"1")
        disk.rename("/a", "/b")
        disk.rename("/b", "/c")
        disk.crash()
        assert len({"/a", "/b", "/c"} & {f"/{name}" for name in disk.names("/")}) == 1


def test_replacing_a_file_leaves_the_old_or_the_new_at_every_cut() -> None:
    for cut_at in range(1, 10):
        for seed in range(10):
            disk = MemoryDisk(seed)
            replace_file(disk, "/f", b"old")
            disk.power_cut_at = disk.operations + cut_at
            try:
                replace_file(disk, "/f", b"new")
            except PowerCut:
                pass
            disk.crash()
            assert read_file(disk, "/f") in (b"old", b"new")


def test_a_full_disk_writes_what_fits_and_says_so() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    file = disk.open("/f", create=True)
    file.write_at(0, [b"12345678"])
    with pytest.raises(OSError, match="No space left") as caught:
        file.write_at(8, [b"abcd"])
    assert caught.value.errno == errno.ENOSPC
    assert file.read_at(0, 100) == b"12345678ab"
    assert disk.free_bytes("/") == (10, 0)
    file.write_at(0, [b"overwriting needs no room"[:10]])


def test_faults_strike_from_the_call_they_are_set_for() -> None:
    disk = MemoryDisk()
    disk.fail("sync", ".log", number=2)
    log, other = disk.open("/a.log", create=True), disk.open("/b", create=True)
    log.sync()
    other.sync()
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            log.sync()
    disk.heal()
    log.sync()


def test_missing_files_and_directories_are_reported_as_on_a_real_disk() -> None:
    disk = MemoryDisk()
    with pytest.raises(FileNotFoundError):
        disk.open("/f")
    with pytest.raises(FileNotFoundError):
        disk.open("/no/f", create=True)
    with pytest.raises(FileNotFoundError):
        disk.names("/no")
    with pytest.raises(FileNotFoundError):
        disk.rename("/a", "/b")
    with pytest.raises(FileNotFoundError):
        disk.size("/f")
    disk.remove("/f")
    disk.make_dirs("/a/b")
    assert disk.is_dir("/a/b")
    with pytest.raises(IsADirectoryError):
        disk.open("/a")
    disk.remove_tree("/a")
    assert disk.names("/") == []

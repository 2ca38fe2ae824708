"""The first start in an empty directory, and a directory that has lost its vote."""

import pytest

from tidelog.base.errors import StorageError
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.ready import HardState
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

DIRECTORY = "/m"


def directory_with(**files: bytes) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs(DIRECTORY)
    for name, content in files.items():
        file = disk.open(f"{DIRECTORY}/{name}", create=True)
        file.write_at(0, [content])
        file.close()
    return disk


def test_the_first_start_writes_quorum_state_before_the_log():
    disk = directory_with()
    store = QuorumStore.open(disk, DIRECTORY)
    assert (store.is_new, store.hard_state) == (True, HardState())
    assert disk.names(DIRECTORY) == [f"{0:020d}.log", "quorum-state"]
    assert not QuorumStore.open(disk, DIRECTORY).is_new


@pytest.mark.parametrize(
    "name", [f"{0:020d}.log", f"{9:020d}-0000000001.checkpoint", f"{9:020d}-0000000001.install"]
)
def test_entries_or_snapshots_without_quorum_state_are_refused(name):
    disk = directory_with(**{name: b"anything"})
    with pytest.raises(StorageError, match=r"quorum-state is missing\. .*could vote twice"):
        QuorumStore.open(disk, DIRECTORY)
    assert disk.names(DIRECTORY) == [name]


def test_an_empty_log_holds_no_vote():
    assert QuorumStore.open(directory_with(**{f"{0:020d}.log": b""}), DIRECTORY).is_new


def test_leftovers_of_a_crash_are_removed():
    disk = directory_with(**{"quorum-state.tmp": b"{", f"{0:020d}.log.deleted": b"x"})
    QuorumStore.open(disk, DIRECTORY)
    assert disk.names(DIRECTORY) == [f"{0:020d}.log", "quorum-state"]


def test_power_cut_at_every_operation_of_the_first_start():
    disk = directory_with()
    before = disk.operations
    QuorumStore.open(disk, DIRECTORY)
    for cut_at in range(1, disk.operations - before + 1):
        disk = directory_with()
        disk.power_cut_at = disk.operations + cut_at
        with pytest.raises(PowerCut):
            QuorumStore.open(disk, DIRECTORY)
        disk.crash()
        assert QuorumStore.open(disk, DIRECTORY).hard_state == HardState()

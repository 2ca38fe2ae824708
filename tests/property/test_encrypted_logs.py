"""Logs and the metadata store on an encrypted disk hold to what they promise on a plain one.

The same models and workloads as beside this file; what differs is the disk below them.
"""

import pytest
from hypothesis import settings

from tests.property.test_journal_crash import LARGE, SMALL, Scale, World, lives
from tests.property.test_log_crash import after_crash, run_until
from tests.property.test_log_model import LogAndList
from tests.property.test_quorum_store_crash import DIRECTORY, Life
from tests.rigs.encryption import EncryptedMemoryDisk
from tidelog.base.errors import StorageError
from tidelog.metadata.store.store import QuorumStore
from tidelog.testing.sim.runtime.memory_disk import PowerCut


class EncryptedLogAndList(LogAndList):
    make_disk = EncryptedMemoryDisk


EncryptedLogAndList.TestCase.settings = settings(
    max_examples=20, stateful_step_count=40, report_multiple_bugs=False
)
TestEncryptedLogAndList = EncryptedLogAndList.TestCase


@pytest.mark.parametrize("truncate", [False, True], ids=["append only", "with truncation"])
def test_power_cut_at_every_operation_of_a_log(truncate: bool) -> None:
    seed = 4
    disk = EncryptedMemoryDisk(seed)
    run_until(disk, seed, None, truncate=truncate)
    operations = disk.operations
    assert operations > 100
    for cut_at in range(3, operations + 1):
        disk = EncryptedMemoryDisk(seed * 1000 + cut_at)
        workload = run_until(disk, seed, cut_at, truncate=truncate)
        disk.crash()
        after_crash(workload)


@pytest.mark.parametrize("scale", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("breaks_disk", [False, True], ids=["whole disk", "broken disk"])
@pytest.mark.parametrize("seed", range(4))
def test_power_cuts_with_a_journal(seed: int, breaks_disk: bool, scale: Scale) -> None:
    world = World(seed, EncryptedMemoryDisk, scale)
    each = lives(world, breaks_disk=breaks_disk)
    for _ in range(6):
        next(each)
    assert world.shared


@pytest.mark.parametrize("scale", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(4))
def test_a_log_that_is_left_out_and_a_journal_that_fails(seed: int, scale: Scale) -> None:
    world = World(seed, EncryptedMemoryDisk, scale)
    each = lives(world, leaves_out=True, breaks_journal=True)
    for _ in range(6):
        next(each)
    assert world.absent
    assert world.restarts


@pytest.mark.parametrize("seed", range(3))
def test_power_cut_at_every_operation_of_the_metadata_store(seed: int) -> None:
    life = Life(seed, EncryptedMemoryDisk(seed))
    life.run(25)
    for cut_at in range(2, life.disk.operations + 1):
        life = Life(seed, EncryptedMemoryDisk(seed))
        life.disk.power_cut_at = cut_at
        with pytest.raises(PowerCut):
            life.run(25)
        life.disk.crash()
        life.run(3)
        life.disk.crash()
        life.open()


@pytest.mark.parametrize("seed", range(12))
def test_a_flipped_bit_of_the_metadata_is_noticed_or_does_not_matter(seed: int) -> None:
    """Any bit as it lies on the disk: of headers, of encrypted bytes, of tags."""
    disk = EncryptedMemoryDisk(seed)
    life = Life(seed, disk)
    life.run(30)
    disk.crash()
    names = [name for name in disk.names(DIRECTORY) if disk.size(f"{DIRECTORY}/{name}")]
    noticed = 0
    for _ in range(40):
        path = f"{DIRECTORY}/{life.rng.choice(names)}"
        position, bit = life.rng.randrange(disk.raw_size(path)), life.rng.randrange(8)
        disk.flip_raw_bit(path, position, bit)
        try:
            store = QuorumStore.open(disk, DIRECTORY)
        except StorageError:
            noticed += 1
        else:
            life.check(store)
            if ".checkpoint" in path:
                return  # it was set aside, and the log made up for it
        disk.flip_raw_bit(path, position, bit)
    assert noticed

"""After a failed sync the page cache hides what the disk never got, from the next process, too."""

import pytest

from tests.rigs.encryption import EncryptedMemoryDisk
from tests.rigs.log import DIRECTORY, append, open_log, values
from tidelog.base.errors import KafkaError
from tidelog.storage import failed_sync
from tidelog.storage.encryption.layout import BLOCK_BYTES
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

CONFIG = LogConfig()


def sync(log: PartitionLog) -> None:
    flush = log.begin_flush()
    if flush is not None:
        flush.run()
        log.finish_flush(flush)


@pytest.mark.parametrize("make_disk", [MemoryDisk, EncryptedMemoryDisk], ids=["plain", "encrypted"])
@pytest.mark.parametrize("size", [10, 2 * BLOCK_BYTES], ids=["small", "large"])
def test_what_a_start_syncs_after_a_failed_sync_is_on_the_disk(
    make_disk: type[MemoryDisk], size: int
) -> None:
    disk = make_disk()
    log = open_log(disk, CONFIG)
    append(log, [(b"synced", bytes(size))])
    sync(log)
    append(log, [(b"not synced", bytes(size))])
    disk.fail("sync", ".log")
    with pytest.raises(KafkaError):
        sync(log)
    disk.heal()
    again = open_log(disk, CONFIG, recovery_point=1)
    assert again.end == 2
    assert failed_sync.is_marked(disk, DIRECTORY)
    sync(again)
    assert not failed_sync.is_marked(disk, DIRECTORY)
    assert again.synced_end == 2
    disk.crash()
    assert values(open_log(disk, CONFIG, recovery_point=2)) == {
        b"synced": bytes(size),
        b"not synced": bytes(size),
    }


def test_a_start_whose_own_sync_fails_leaves_the_mark_to_the_next() -> None:
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    append(log, [(b"a", b"1")])
    disk.fail("sync", ".log")
    for _ in range(2):
        with pytest.raises(KafkaError):
            sync(log)
        log = open_log(disk, CONFIG, recovery_point=0)
    disk.heal()
    sync(log)
    disk.crash()
    assert open_log(disk, CONFIG, recovery_point=1).end == 1


def test_what_is_written_again_stays_as_it_was_when_power_is_cut_meanwhile() -> None:
    """Of an encrypted file, too: a cell with a new nonce that is torn would lose what was durable."""
    for seed in range(40):
        disk = EncryptedMemoryDisk(seed)
        file = disk.open("/x", create=True)
        data = bytes(range(256)) * 20
        for position in range(0, len(data), 700):
            file.write_at(position, [data[position : position + 700]])
        file.sync()
        disk.sync_dir("/")
        file.write_again(650, 3000)
        disk.crash()
        assert disk.open("/x").read_at(0, 9999) == data

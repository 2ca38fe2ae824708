from tests.rigs.partition import sole_leader
from tidelog.broker.log_dirs.log_dir import DataFolder
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.log_dir import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, DirectoryIdentity
from tidelog.testing.disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch


def opened(disk: MemoryDisk) -> DataFolder:
    folder = DataFolder(disk, "/data")
    folder.open(DirectoryIdentity("cluster", 1, "folder"))
    return folder


def partition(folder: DataFolder, topic: str, index: int = 0) -> Partition:
    topic_id = topic.encode().ljust(16)
    log = folder.open_log(topic, topic_id, index, LogConfig(), now_ms=0)
    batch = write_batch([Record(0, 0, None, b"x"), Record(1, 0, None, b"y")])
    log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=0)
    return sole_leader(
        log, topic=topic, topic_id=topic_id, index=index, durability=Durability.OS, on_unsynced=lambda _: None
    )


def test_a_slow_thread_does_not_bring_back_what_a_newer_checkpoint_left_out() -> None:
    folder = opened(MemoryDisk())
    orders, payments = partition(folder, "orders"), partition(folder, "payments")
    slow = folder.checkpoint([orders, payments])
    folder.forget(orders.topic_id, 0)
    folder.checkpoint([payments])()
    slow()
    assert folder.dir.read_checkpoint(RECOVERY_POINTS).keys() == {("payments", 0)}


def test_what_is_forgotten_while_a_thread_writes_does_not_disturb_it() -> None:
    folder = opened(MemoryDisk())
    orders = partition(folder, "orders")
    write = folder.checkpoint([orders])
    folder.forget(orders.topic_id, 0)
    write()
    assert folder.dir.read_checkpoint(RECOVERY_POINTS).keys() == {("orders", 0)}


def test_what_is_known_of_a_log_that_is_not_open_is_kept() -> None:
    disk = MemoryDisk()
    folder = opened(disk)
    orders, payments = partition(folder, "orders"), partition(folder, "payments")
    orders.log.delete_before(1)
    folder.checkpoint([orders, payments])()
    folder.close()
    again = opened(disk)
    again.checkpoint([payments])()
    assert again.dir.read_checkpoint(LOG_STARTS) == {("orders", 0): 1}


def test_a_folder_is_clean_only_if_every_log_in_it_was_open() -> None:
    for open_ones, is_clean in ((2, True), (1, False)):
        disk = MemoryDisk()
        folder = opened(disk)
        both = [partition(folder, "orders"), partition(folder, "payments")]
        folder.logs_are_closed(both[:open_ones], in_order=True)
        folder.close()
        assert opened(disk).was_clean is is_clean


def test_a_folder_that_is_no_partition_of_ours_does_not_keep_the_rest_from_being_clean() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/data/lost-0")
    folder = opened(disk)
    folder.logs_are_closed([partition(folder, "orders")], in_order=True)
    folder.close()
    assert opened(disk).was_clean


def test_high_watermarks_are_written_on_their_own_only_when_they_move() -> None:
    disk = MemoryDisk()
    folder = opened(disk)
    orders, payments = partition(folder, "orders"), partition(folder, "payments")
    write = folder.checkpoint_high_watermarks([orders, payments])
    assert write is not None
    write()
    expected = {("orders", 0): 2, ("payments", 0): 2}
    assert folder.dir.read_checkpoint(HIGH_WATERMARKS) == expected
    assert folder.dir.read_checkpoint(RECOVERY_POINTS) == {}
    assert folder.checkpoint_high_watermarks([orders, payments]) is None
    folder.close()
    assert opened(disk).checkpoints.high_watermarks == expected


def test_a_slow_thread_does_not_bring_back_old_high_watermarks() -> None:
    folder = opened(MemoryDisk())
    orders = partition(folder, "orders")
    slow = folder.checkpoint([orders])
    orders.high_watermark = 7
    quick = folder.checkpoint_high_watermarks([orders])
    assert quick is not None
    quick()
    slow()
    assert folder.dir.read_checkpoint(HIGH_WATERMARKS) == {("orders", 0): 7}
    assert folder.dir.read_checkpoint(RECOVERY_POINTS).keys() == {("orders", 0)}, "the rest is not too old"
    folder.forget(orders.topic_id, 0)
    folder.checkpoint([])()
    assert folder.dir.read_checkpoint(HIGH_WATERMARKS) == {}

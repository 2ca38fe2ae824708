from tests.rigs.partition import sole_leader
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_dir.files import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, LogDirIdentity
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.record import Record, write_batch


def opened(disk: MemoryDisk) -> LogDir:
    log_dir = LogDir(disk, "/data")
    log_dir.open(LogDirIdentity("cluster", 1, "log-dir"))
    return log_dir


def partition(log_dir: LogDir, topic: str, index: int = 0) -> Partition:
    topic_id = topic.encode().ljust(16)
    log = log_dir.open_log(topic, topic_id, index, LogConfig(), now_ms=0)
    batch = write_batch([Record(0, 0, None, b"x"), Record(1, 0, None, b"y")])
    log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=0)
    return sole_leader(
        log, topic=topic, topic_id=topic_id, index=index, durability=Durability.OS, on_unsynced=lambda _: None
    )


def test_a_slow_thread_does_not_bring_back_what_a_newer_checkpoint_left_out() -> None:
    log_dir = opened(MemoryDisk())
    orders, payments = partition(log_dir, "orders"), partition(log_dir, "payments")
    slow = log_dir.checkpoint([orders, payments])
    log_dir.forget(orders.topic_id, 0)
    log_dir.checkpoint([payments])()
    slow()
    assert log_dir.files.read_checkpoint(RECOVERY_POINTS).keys() == {("payments", 0)}


def test_what_is_forgotten_while_a_thread_writes_does_not_disturb_it() -> None:
    log_dir = opened(MemoryDisk())
    orders = partition(log_dir, "orders")
    write = log_dir.checkpoint([orders])
    log_dir.forget(orders.topic_id, 0)
    write()
    assert log_dir.files.read_checkpoint(RECOVERY_POINTS).keys() == {("orders", 0)}


def test_what_is_known_of_a_log_that_is_not_open_is_kept() -> None:
    disk = MemoryDisk()
    log_dir = opened(disk)
    orders, payments = partition(log_dir, "orders"), partition(log_dir, "payments")
    orders.log.delete_before(1)
    log_dir.checkpoint([orders, payments])()
    log_dir.close()
    again = opened(disk)
    again.checkpoint([payments])()
    assert again.files.read_checkpoint(LOG_STARTS) == {("orders", 0): 1}


def test_a_log_dir_is_clean_only_if_every_log_in_it_was_open() -> None:
    for open_ones, is_clean in ((2, True), (1, False)):
        disk = MemoryDisk()
        log_dir = opened(disk)
        both = [partition(log_dir, "orders"), partition(log_dir, "payments")]
        log_dir.logs_are_closed(both[:open_ones], in_order=True)
        log_dir.close()
        assert opened(disk).was_clean is is_clean


def test_a_log_dir_that_is_no_partition_of_ours_does_not_keep_the_rest_from_being_clean() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/data/lost-0")
    log_dir = opened(disk)
    log_dir.logs_are_closed([partition(log_dir, "orders")], in_order=True)
    log_dir.close()
    assert opened(disk).was_clean


def test_high_watermarks_are_written_on_their_own_only_when_they_move() -> None:
    disk = MemoryDisk()
    log_dir = opened(disk)
    orders, payments = partition(log_dir, "orders"), partition(log_dir, "payments")
    write = log_dir.checkpoint_high_watermarks([orders, payments])
    assert write is not None
    write()
    expected = {("orders", 0): 2, ("payments", 0): 2}
    assert log_dir.files.read_checkpoint(HIGH_WATERMARKS) == expected
    assert log_dir.files.read_checkpoint(RECOVERY_POINTS) == {}
    assert log_dir.checkpoint_high_watermarks([orders, payments]) is None
    log_dir.close()
    assert opened(disk).checkpoints.high_watermarks == expected


def test_a_slow_thread_does_not_bring_back_old_high_watermarks() -> None:
    log_dir = opened(MemoryDisk())
    orders = partition(log_dir, "orders")
    slow = log_dir.checkpoint([orders])
    orders.log.end = orders.mark.offset = 7
    quick = log_dir.checkpoint_high_watermarks([orders])
    assert quick is not None
    quick()
    slow()
    assert log_dir.files.read_checkpoint(HIGH_WATERMARKS) == {("orders", 0): 7}
    assert log_dir.files.read_checkpoint(RECOVERY_POINTS).keys() == {("orders", 0)}, "the rest is not too old"
    log_dir.forget(orders.topic_id, 0)
    log_dir.checkpoint([])()
    assert log_dir.files.read_checkpoint(HIGH_WATERMARKS) == {}

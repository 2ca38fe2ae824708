"""The partitions of a broker follow the metadata: opened, given roles and dropped as that says."""

import asyncio
import errno
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.rigs.quorum import Dice, LoopClock, at_once
from tests.rigs.virtual_time import run
from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.entities import LOST_DIRECTORY, NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

CONFIG = BrokerConfig()


def image(leader: NodeId, epoch: int, *, replicas: tuple[NodeId, ...] = (1, 2), id: int = 1) -> ClusterImage:
    partition = PartitionImage(0, replicas, replicas, leader, epoch, epoch)
    topic = TopicImage("t", bytes([id] * 16), (partition,))
    return ClusterImage(topics={"t": topic}, topics_by_id={topic.id: topic})


class Host:
    def __init__(self, disk: MemoryDisk, run_in_thread: Callable[[Callable[[], Any]], Any] = at_once) -> None:
        for path in ("/one", "/two"):
            if not disk.exists(path):
                disk.make_dirs(path)
        self.log_dirs = LogDirs.open(disk, ["/one", "/two"], cluster_id=None, node_id=1, random=Dice())
        self.hosted = HostedPartitions(1, self.log_dirs, Flusher(at_once), LoopClock(), run_in_thread)
        self.image = ClusterImage()

    async def start(self, now: ClusterImage) -> None:
        self.image = now
        await self.hosted.open_all(now, CONFIG)
        await self.hosted.take_roles()

    async def hear(self, now: ClusterImage) -> None:
        before, self.image = self.image, now
        await self.hosted.on_change(diff(before, now), CONFIG)

    async def stop(self) -> None:
        await self.hosted.close()
        self.log_dirs.close()


def test_a_log_that_is_out_of_reach_does_not_begin_anew_when_its_metadata_change() -> None:
    async def life() -> None:
        disk = MemoryDisk()
        first = Host(disk)
        await first.start(ClusterImage())
        filler = TopicImage("filler", bytes([9] * 16), (PartitionImage(0, (1,), (1,), 1),))
        both = image(1, 1)
        both = replace(
            both,
            topics={"filler": filler, **both.topics},
            topics_by_id={filler.id: filler, **both.topics_by_id},
        )
        await first.hear(both)
        assert disk.is_dir("/two/t-0")
        await first.stop()
        disk.fail("*", "/two")
        again = Host(disk)
        await again.start(image(1, 1))
        with pytest.raises(KafkaError) as refused:
            again.hosted.find("t", 0)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        await again.hear(image(2, 2))
        assert not disk.is_dir("/one/t-0")
        with pytest.raises(KafkaError) as refused:
            again.hosted.find_any("t", 0)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        # Elsewhere it is no concern of this broker any more; and what comes back to it later is new.
        await again.hear(image(2, 3, replicas=(2, 3)))
        with pytest.raises(KafkaError) as refused:
            again.hosted.find("t", 0)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        await again.hear(image(1, 4))
        assert again.hosted.find("t", 0).is_leader

    run(life())


def test_a_change_waits_while_epochs_begin_in_threads() -> None:
    async def life() -> None:
        disk = MemoryDisk()
        first = Host(disk)
        await first.start(image(1, 1))
        await first.stop()
        working: list[asyncio.Future[Any]] = []

        def slow(job: Callable[[], Any]) -> "asyncio.Future[Any]":
            if not again.hosted._has_roles:
                return at_once(job)
            done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(1, lambda: done.set_result(job()))
            working.append(done)
            return done

        again = Host(disk, slow)
        starting = asyncio.get_running_loop().create_task(again.start(image(1, 5)))
        await asyncio.sleep(0.5)
        assert len(working) == 1
        await again.hear(image(1, 6))
        assert working[0].done()
        await starting
        partition = again.hosted.find("t", 0)
        assert partition.leader_epoch == 6
        assert partition.log.leader_epochs.latest == 6

    run(life())


@pytest.mark.parametrize(
    ("now", "code"),
    [
        (image(2, 2, replicas=(2, 3)), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ClusterImage(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_partition_that_is_gone_leads_no_more(now: ClusterImage, code: ErrorCode) -> None:
    """Share partitions hold on to it, and ask it whether they may go on."""

    async def life() -> None:
        host = Host(MemoryDisk())
        await host.start(image(1, 1))
        partition = host.hosted.find("t", 0)
        await host.hear(now)
        assert not partition.is_leader
        with pytest.raises(KafkaError) as refused:
            host.hosted.find("t", 0)
        assert refused.value.code is code

    run(life())


def test_a_topic_of_the_same_name_begins_empty() -> None:
    async def life() -> None:
        host = Host(MemoryDisk())
        await host.start(image(1, 1))
        old = host.hosted.find("t", 0)
        await host.hear(image(1, 1, id=2))
        new = host.hosted.find("t", 0)
        assert new is not old
        assert host.hosted.current(old.topic_id, 0) is None

    run(life())


@pytest.mark.parametrize(("replicas", "is_reported"), [((1, 2), True), ((1,), False)])
def test_a_log_that_finds_no_room_is_told_to_the_controller_if_others_can_lead(
    replicas: tuple[NodeId, ...], is_reported: bool
) -> None:
    async def life() -> None:
        disk = MemoryDisk()
        host = Host(disk)
        await host.start(ClusterImage())
        disk.fail("make_dirs", "t-0", error=errno.ENOSPC)
        now = image(1, 0, replicas=replicas)
        await host.hear(now)
        key = now.topics["t"].id, 0
        assert host.hosted.damaged() == ({key} if is_reported else set())
        with pytest.raises(KafkaError, match="No space left"):
            host.hosted.find("t", 0)
        assert host.hosted.without_space
        disk.heal()
        await host.hosted.open_those_without_space()
        assert host.hosted.find("t", 0).is_leader
        assert not host.hosted.damaged()
        assert not host.hosted.without_space
        await host.stop()

    run(life())


def test_a_full_log_is_no_failed_log_dir_and_a_broken_one_is() -> None:
    async def life() -> None:
        disk = MemoryDisk()
        host = Host(disk)
        await host.start(image(1, 0))
        log = host.hosted.find("t", 0).log
        for code, failed, logged_at in ((errno.ENOSPC, 0, 1), (errno.EIO, 1, 0)):
            log.health.offline = OSError(code, "a disk error")
            assert len(host.hosted.failed_log_dirs()) == failed
            assert len(host.hosted.damaged()) == logged_at
        await host.stop()

    run(life())


def test_a_damaged_log_that_is_gone_does_not_begin_anew_while_the_cluster_counts_on_it() -> None:
    def damaged(*, epoch: int, leader: NodeId, isr: tuple[NodeId, ...]) -> ClusterImage:
        both = image(leader, epoch)
        [partition] = both.topics["t"].partitions
        known = replace(partition, isr=isr, directories=(LOST_DIRECTORY, bytes([7] * 16)))
        topic = replace(both.topics["t"], partitions=(known,))
        return replace(both, topics={"t": topic}, topics_by_id={topic.id: topic})

    async def life() -> None:
        disk = MemoryDisk()
        first = Host(disk)
        await first.start(image(1, 1))
        await first.stop()
        [log_dir] = [path for path in ("/one/t-0", "/two/t-0") if disk.is_dir(path)]
        disk.remove_tree(log_dir)  # so that it is copied anew, as somebody might think
        again = Host(disk)
        await again.start(damaged(epoch=2, leader=NO_LEADER, isr=(1,)))
        with pytest.raises(KafkaError, match="was damaged, and its directory is gone") as refused:
            again.hosted.find_any("t", 0)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert not list(again.log_dirs.first.partition_dirs)
        # Once another replica leads, there is nothing to be lost any more.
        await again.hear(damaged(epoch=3, leader=2, isr=(2,)))
        assert again.hosted.find_any("t", 0).leader_id == 2

    run(life())

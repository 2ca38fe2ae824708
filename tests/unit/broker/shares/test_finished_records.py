"""Records that every share group has finished are deleted, and nothing is while an answer is missing."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tests.rigs import virtual_time
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID, ShareRig
from tidelog.broker.shares.finished_records import FinishedRecords
from tidelog.broker.shares.lazy_deletion import SETTING, LazyDeletion
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.replication.partition import Partition
from tidelog.shares.states import NO_START_OFFSET
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.share_start_offsets import (
    ShareStart,
    ShareStartGroup,
    ShareStartOffsetsRequest,
    ShareStartOffsetsResponse,
    ShareStartShard,
)

OTHER, SHARD_EPOCH = 2, 6


class Coordinators:
    """Brokers 1 and 2, which lead a partition of `__share_group_state` each."""

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        """By group. Groups with an even number of letters are on broker 1."""
        self.epochs = {1: SHARD_EPOCH, OTHER: SHARD_EPOCH}
        self.leader_epoch = 0
        self.unreachable: set[int] = set()
        self.meanwhile: Callable[[], object] = lambda: None
        self.asked: list[ShareStartOffsetsRequest] = []

    async def call(self, node: int, key: int, _version: int, request: Any, **_: Any) -> Any:
        assert key == ApiKey.SHARE_START_OFFSETS
        self.asked.append(request)
        await asyncio.sleep(0.01)
        if node in self.unreachable:
            raise ConnectionRefusedError(node)
        groups = [
            ShareStartGroup(
                group_id=group,
                topic_id=TOPIC_ID,
                partitions=[ShareStart(partition=0, start_offset=start, leader_epoch=self.leader_epoch)],
            )
            for group, start in self.starts.items()
            if len(group) % 2 == node - 1
        ]
        shard = ShareStartShard(state_partition=node - 1, leader_epoch=self.epochs[node], groups=groups)
        if node == OTHER:
            self.meanwhile()
        return ShareStartOffsetsResponse(shards=[shard])


def state_topic(*epochs: int) -> TopicImage:
    partitions = tuple(
        PartitionImage(index, (1, OTHER), (1, OTHER), index + 1, leader_epoch=epoch)
        for index, epoch in enumerate(epochs)
    )
    return TopicImage(SHARE_GROUP_STATE, bytes(15) + b"\2", partitions)


class Rig(ShareRig):
    def __init__(self) -> None:
        super().__init__()
        self.coordinators = Coordinators()
        self.retired: list[Partition] = []
        self.set_image(state_topic(SHARD_EPOCH, SHARD_EPOCH), {SETTING: "true"})
        self.hosted.led = lambda name, index: (
            self.partition if name == TOPIC and self.partition.is_leader else None
        )
        self.made_shares: Any = self.shares
        parts: Any = (self.metadata, self.hosted, SimpleNamespace(call=self.coordinators.call))
        self.deletion = LazyDeletion(*parts, lambda: self.made_shares, self.retired.append)
        self.finished = FinishedRecords(*parts, lambda: self.made_shares, self.retired.append)
        for _ in range(10):
            self.produce(b"job")

    def set_image(self, states: TopicImage | None, configs: dict[str, str]) -> None:
        image: ClusterImage = self.metadata.image
        topic = replace(image.topics_by_id[TOPIC_ID], configs=configs)
        named = {TOPIC: topic} if states is None else {TOPIC: topic, SHARE_GROUP_STATE: states}
        self.metadata.image = replace(image, topics=named, topics_by_id={TOPIC_ID: topic})

    async def start_after_a_round(self) -> int:
        await self.finished.run_once()
        return self.partition.log.start


def test_the_start_follows_the_slowest_group() -> None:
    async def run() -> None:
        rig = Rig()
        rig.coordinators.starts = {"even": 7, "odd": 4}
        assert await rig.start_after_a_round() == 4
        assert rig.retired == [rig.partition]
        rig.coordinators.starts = {"even": 7, "odd": 9}
        assert await rig.start_after_a_round() == 7
        assert rig.finished.deleted_records == 7
        rig.coordinators.starts = {"even": 3, "odd": 9}  # put back: what is gone is gone
        assert await rig.start_after_a_round() == 7
        [topic] = rig.coordinators.asked[-1].topics
        assert (topic.topic_id, topic.partitions) == (TOPIC_ID, [0])

    virtual_time.run(run())


def test_nothing_is_deleted_without_groups_or_above_the_high_watermark() -> None:
    async def run() -> None:
        rig = Rig()
        assert await rig.start_after_a_round() == 0
        rig.coordinators.starts = {"even": NO_START_OFFSET, "odd": 9}
        assert await rig.start_after_a_round() == 0
        rig.coordinators.starts = {"even": 99}  # of a log that was longer: others have its offsets
        assert await rig.start_after_a_round() == 0
        rig.coordinators.starts = {"even": 10}
        assert await rig.start_after_a_round() == 10

    virtual_time.run(run())


def lose_the_partition(rig: Rig) -> None:
    rig.lose_leadership()


def move_a_shard(rig: Rig) -> None:
    rig.set_image(state_topic(SHARD_EPOCH + 1, SHARD_EPOCH), {SETTING: "true"})


def load_a_group(rig: Rig) -> None:
    rig.shares.find("new", TOPIC_ID, 0)


def load_the_first_group(rig: Rig) -> None:
    rig.made_shares = object()


@pytest.mark.parametrize(
    "change",
    [lose_the_partition, move_a_shard, load_a_group, load_the_first_group],
    ids=lambda one: one.__name__,
)
def test_a_round_in_which_something_changes_does_not_count(change: Callable[[Rig], None]) -> None:
    async def run() -> None:
        rig = Rig()
        rig.coordinators.starts = {"even": 7, "odd": 4}
        if change is load_the_first_group:
            rig.made_shares = None
        rig.coordinators.meanwhile = lambda: change(rig)
        assert await rig.start_after_a_round() == 0
        rig.coordinators.meanwhile = lambda: None
        rig.coordinators.epochs[1] = rig.metadata.image.topics[SHARE_GROUP_STATE].partitions[0].leader_epoch
        rig.made_shares = rig.shares
        assert await rig.start_after_a_round() == (0 if change is lose_the_partition else 4)
        rig.shares.close()

    virtual_time.run(run())


def test_a_missing_or_old_answer_holds_back_everything() -> None:
    async def run() -> None:
        rig = Rig()
        rig.coordinators.starts = {"even": 7}
        rig.coordinators.unreachable = {OTHER}
        assert await rig.start_after_a_round() == 0
        rig.coordinators.unreachable = set()
        rig.coordinators.epochs[OTHER] = SHARD_EPOCH - 1
        assert await rig.start_after_a_round() == 0
        rig.coordinators.epochs[OTHER] = SHARD_EPOCH
        rig.coordinators.leader_epoch = 1
        assert await rig.start_after_a_round() == 0
        rig.coordinators.leader_epoch = 0
        assert await rig.start_after_a_round() == 7

    virtual_time.run(run())


def test_only_topics_with_the_setting_are_asked_about() -> None:
    async def run() -> None:
        rig = Rig()
        rig.coordinators.starts = {"even": 7}
        states = state_topic(SHARD_EPOCH, SHARD_EPOCH)
        for configs in ({}, {SETTING: "false"}):
            rig.set_image(states, configs)
            await rig.deletion.run_once()
        rig.set_image(None, {SETTING: "true"})
        await rig.deletion.run_once()
        assert rig.coordinators.asked == []
        rig.set_image(states, {SETTING: "true"})
        await rig.deletion.run_once()
        assert rig.partition.log.start == 7
        assert rig.deletion.deleted_records == 7

    virtual_time.run(run())


def test_a_group_whose_member_is_reading_goes_on_behind_the_new_start() -> None:
    async def run() -> None:
        rig = Rig()
        worker = rig.worker()
        assert await worker.take_ranges(max_records=4, share_acquire_mode=1, max_wait_ms=500) == [(0, 3, 1)]
        await worker.done(0, 2)
        rig.coordinators.starts = {GROUP: rig.store.start_offset}
        assert await rig.start_after_a_round() == 3
        await worker.done(3)
        assert await worker.take_ranges(max_wait_ms=500) == [(4, 9, 1)]

    virtual_time.run(run())

"""A new leader writes the dead letters that an earlier leader left, even if no member of the group comes."""

import asyncio
from typing import Any

from tests.rigs import virtual_time
from tests.rigs.dead_letters import ENABLED, LetterRig
from tests.rigs.shares import GROUP, TOPIC, TOPIC_ID
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares.served import load_for_dead_letters
from tidelog.broker.shares.dead_letters.left_letters import RETRY_SECONDS, WAIT_SECONDS, LeftLetters
from tidelog.metadata.image.entities import PartitionImage
from tidelog.metadata.image.image import ImageDelta
from tidelog.shares.place import SharePlace
from tidelog.shares.states import AckType

PLACE = SharePlace(GROUP, TOPIC_ID, 0)


class Rig(LetterRig):
    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.metadata.node_id = 1

    def follow(self) -> LeftLetters:
        return LeftLetters(
            self.metadata, self.store, lambda place: load_for_dead_letters(self.services, place)
        )

    def lead(self, epoch: int = 1) -> None:
        """The metadata say that broker 1 leads the partition from now on."""
        image = self.metadata.image
        partition = PartitionImage(0, (1,), (1,), 1, leader_epoch=epoch)
        delta = ImageDelta(image, image, partitions_changed=((image.topics[TOPIC], partition),))
        for listener in self.listeners:
            listener(delta)

    async def give_up(self) -> None:
        """Leave a dead letter, as a leader that stops before it can write it."""
        self.produce(b"bad")
        anna = self.worker()
        assert await anna.take_ranges(max_wait_ms=500)
        assert await anna.done(0, kind=AckType.REJECT) is ErrorCode.NONE
        await asyncio.sleep(1)
        assert not self.broker2.letters
        self.dead_letters.close()
        self.shares.close()
        self.add_topic(ENABLED)
        self.lead_anew()


def test_what_an_earlier_leader_left_is_written_without_a_member() -> None:
    async def run() -> None:
        rig = Rig(has_topic=False)
        await rig.give_up()
        rig.follow()
        rig.lead()
        await asyncio.sleep(WAIT_SECONDS - 1)
        assert not rig.broker2.letters
        await asyncio.sleep(2)
        assert len(await rig.until_written(1)) == 1
        await asyncio.sleep(1)
        assert rig.shares.loaded(*PLACE) is None  # nothing is left in memory

    virtual_time.run(run())


def test_a_coordinator_that_does_not_answer_is_asked_again() -> None:
    async def run() -> None:
        rig = Rig(has_topic=False)
        await rig.give_up()
        rig.store.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        rig.follow()
        rig.lead()
        await asyncio.sleep(WAIT_SECONDS + 1)
        assert not rig.broker2.letters
        await asyncio.sleep(RETRY_SECONDS)
        assert len(await rig.until_written(1)) == 1

    virtual_time.run(run())


def test_a_look_costs_nothing_without_groups_that_have_dead_letters() -> None:
    async def run() -> None:
        rig = Rig()
        rig.configure({"errors.deadletterqueue.topic.name": ""})
        rig.follow()
        rig.lead()
        await asyncio.sleep(100)
        assert rig.store.reads == 0

    virtual_time.run(run())


def test_a_share_partition_without_dead_letters_is_not_loaded() -> None:
    async def run() -> None:
        rig = Rig()
        rig.store.start_offset = 0
        rig.follow()
        rig.lead()
        await asyncio.sleep(100)
        assert rig.store.reads == 1
        assert rig.shares.loaded(*PLACE) is None

    virtual_time.run(run())


def test_close_ends_the_look() -> None:
    async def run() -> None:
        rig = Rig()
        left = rig.follow()
        rig.lead()
        left.close()
        await asyncio.sleep(100)
        assert rig.store.reads == 0

    virtual_time.run(run())

"""Changes of leaders and in-sync sets are counted once each, by what the metadata say."""

import asyncio
from collections.abc import Iterable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.rigs.scrape import filled
from tidelog.broker.metrics.image_changes import ImageChanges
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metrics.collectors import Collectors

TOPIC_ID = bytes(range(16))


def image(
    leader: int,
    isr: tuple[int, ...],
    elr: tuple[int, ...] = (),
    *,
    replicas: tuple[int, ...] = (1, 2, 3),
    removing: tuple[int, ...] = (),
) -> ClusterImage:
    partition = PartitionImage(0, replicas, isr, leader, elr=elr, removing=removing)
    topic = TopicImage("orders", TOPIC_ID, (partition,))
    return ClusterImage(topics={"orders": topic}, topics_by_id={TOPIC_ID: topic})


def at_epoch(image: ClusterImage, epoch: int) -> ClusterImage:
    topic = image.topics["orders"]
    topic = replace(topic, partitions=(replace(topic.partitions[0], partition_epoch=epoch),))
    return ClusterImage(topics={"orders": topic}, topics_by_id={TOPIC_ID: topic})


def counts(*images: ClusterImage, step: int = 1, is_registered: bool = True) -> tuple[float, ...]:
    changes = ImageChanges(1, lambda: is_registered)

    async def follow() -> None:
        numbered = [at_epoch(one, number * step) for number, one in enumerate(images)]
        for before, after in pairwise(numbered):
            await changes.on_change(diff(before, after))

    asyncio.run(follow())
    collectors = Collectors()
    collectors.add("changes", changes.collect)
    page = filled(collectors)
    names: Iterable[str] = ("leader_elections", "unclean_elections", "isr_shrinks", "isr_expands")
    return tuple(page.value(f"tidelog_{name}_total") for name in names)


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ([image(1, (1, 2, 3)), image(1, (1, 3)), image(1, (1, 2, 3))], (0, 0, 1, 1)),
        ([image(1, (1, 2)), image(1, (1, 3))], (0, 0, 1, 1)),
        ([image(1, (1, 2, 3)), image(2, (2, 3))], (1, 0, 0, 0)),  # broker 2 counts the smaller set
        ([image(2, (1, 2)), image(1, (1,))], (1, 0, 1, 0)),
        ([image(1, (1, 2)), image(NO_LEADER, (1,)), image(1, (1,))], (1, 0, 0, 0)),
        ([image(NO_LEADER, (1,)), image(2, (2,))], (1, 1, 0, 0)),
        ([image(NO_LEADER, (), (2,)), image(2, (2,))], (1, 0, 0, 0)),
    ],
)
def test_changes_that_are_seen(images: list[ClusterImage], expected: tuple[float, ...]) -> None:
    assert counts(*images) == expected


MOVES = [image(1, (1,), replicas=(2, 1), removing=(1,)), image(2, (2,), replicas=(2,))]
FOREIGN_LEADER = [image(NO_LEADER, (1,)), image(2, (2,))]


def test_a_partition_that_moved_was_elected_cleanly() -> None:
    assert counts(*MOVES) == (1, 0, 0, 0)


def test_several_changes_at_once_are_not_taken_for_an_unclean_election() -> None:
    assert counts(*FOREIGN_LEADER, step=2) == (1, 0, 0, 0)


def test_history_that_a_start_reads_is_not_counted_again() -> None:
    assert counts(*FOREIGN_LEADER, is_registered=False) == (0, 0, 0, 0)

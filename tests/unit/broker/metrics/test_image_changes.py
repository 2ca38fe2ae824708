"""Changes of leaders and in-sync sets are counted once each, by what the metadata say."""

import asyncio
from collections.abc import Iterable
from itertools import pairwise

import pytest

from tests.rigs.scrape import filled
from tidelog.broker.metrics.image_changes import ImageChanges
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metrics.collectors import Collectors

TOPIC_ID = bytes(range(16))


def image(leader: int, isr: tuple[int, ...], elr: tuple[int, ...] = ()) -> ClusterImage:
    topic = TopicImage("orders", TOPIC_ID, (PartitionImage(0, (1, 2, 3), isr, leader, elr=elr),))
    return ClusterImage(topics={"orders": topic}, topics_by_id={TOPIC_ID: topic})


def counts(*images: ClusterImage) -> tuple[float, ...]:
    changes = ImageChanges(1)

    async def follow() -> None:
        for before, after in pairwise(images):
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

"""A partition gets another leader while all its replicas are well, or while one follower is not."""

import asyncio
from collections.abc import Callable

from tidelog.metadata.image.entities import PartitionImage
from tidelog.testing.sim.cluster.view import Place, place_of, views
from tidelog.testing.sim.faults.operations import REASSIGN_VERSION, ask, elect, reassignment
from tidelog.testing.sim.faults.world import World, start
from tidelog.wire.apis import ApiKey

FAR_SECONDS = 0.4
LOOK_SECONDS = 0.01
SHRINK_SECONDS = 4.5
"""How long it may take until an isolated follower is out of sync."""


async def leader_change(world: World) -> None:
    place = _some_partition(world)
    image = _image_of(world, place)
    if image is None:
        return
    others = [one for one in image.replicas if one != image.leader]
    if others and image.leader >= 0:
        await _prefer(world, place, image, world.chance.choice(others))
        await elect(world)


async def left_behind(world: World) -> None:
    """A follower is isolated from its leader. Once it is out of sync, another one leads, and it follows that.

    The new leader is so far from the old one that it has not heard of all that is committed, and so far from
    the follower that this one cannot have what it needs at once.
    """
    place = _some_partition(world)
    image = _image_of(world, place)
    if image is None or image.leader < 0 or len(image.isr) < 3:
        return
    behind, heir = world.chance.sample([one for one in image.isr if one != image.leader], 2)
    old, new, last = (world.cluster.machine(one).host for one in (image.leader, heir, behind))
    await _prefer(world, place, image, heir)
    world.cluster.note(f"{last} is isolated from {old}, and far from {new}")
    paths = world.cluster.network.paths
    far = ([old], [new]), ([new], [old, last])
    for sources, targets in far:
        paths.stretch(sources, targets, FAR_SECONDS * world.chance.random())
    blocked = paths.block([last], [old])
    if await _until(world, lambda: _is_out_of_sync(world, place, behind), SHRINK_SECONDS):
        await elect(world)
        await world.some_time(1.0)
    paths.mend(blocked)
    for sources, targets in far:
        paths.stretch(sources, targets, 0.0)


async def catching_up(world: World) -> None:
    """A follower comes back and has a lot to fetch; before it is through, another one leads.

    The follower is near the old leader and has heard how much is committed; the new one is far and has not.
    """
    place = _some_partition(world)
    image = _image_of(world, place)
    if image is None or image.leader < 0 or len(image.isr) < 3:
        return
    behind, heir = world.chance.sample([one for one in image.isr if one != image.leader], 2)
    old, new, last = (world.cluster.machine(one) for one in (image.leader, heir, behind))
    await _prefer(world, place, image, heir)
    last.kill()
    await asyncio.sleep(world.chance.uniform(2.5, 4.0))
    paths = world.cluster.network.paths
    paths.stretch([old.host], [last.host], FAR_SECONDS / 2)
    paths.stretch([old.host], [new.host], 2 * FAR_SECONDS)
    start(last)
    if await _until(world, lambda: _is_catching_up(world, place, behind), SHRINK_SECONDS):
        world.cluster.note(f"{last.host} is catching up with {old.host}")
        await elect(world)
        await world.some_time(1.0)
    paths.stretch([old.host], [last.host, new.host], 0.0)


def _some_partition(world: World) -> Place:
    topics = world.cluster.scenario.movable
    topic = world.chance.choice(list(topics))
    return topic, world.chance.randrange(topics[topic])


def _image_of(world: World, place: Place) -> PartitionImage | None:
    """As the controller knows it."""
    images = [view.image.partition(*place) for view in views(world.cluster) if view.is_controller]
    return images[0] if images else None


async def _prefer(world: World, place: Place, image: PartitionImage, first: int) -> None:
    replicas = [first, *(one for one in image.replicas if one != first)]
    world.cluster.note(f"{place[0]}-{place[1]} is to be led by {first}")
    request = reassignment(*place, replicas)
    await ask(world, ApiKey.ALTER_PARTITION_REASSIGNMENTS, REASSIGN_VERSION, request)


async def _until(world: World, is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = world.now + seconds
    while world.now < deadline:
        if is_so():
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False


def _is_out_of_sync(world: World, place: Place, node: int) -> bool:
    image = _image_of(world, place)
    return image is not None and node not in image.isr


def _is_catching_up(world: World, place: Place, node: int) -> bool:
    """It has heard that more is committed than it has."""
    return any(
        view.leader_mark(partition) > partition.log.end
        for view in views(world.cluster)
        for partition in view.partitions
        if view.machine.id == node and place_of(partition) == place
    )

"""Disks and clocks that are not what they should be."""

import asyncio

from tidelog.testing.sim.cluster.convergence import why_not_whole
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.world import World, start
from tidelog.wire.apis import ApiKey

SLOW_DISK_SECONDS = 0.1
DISK_SECONDS = 0.002
VOTERS_MIN = 3
"""Of two voters none may be lost: the other one alone is no majority, and may not decide that it is."""
HOURS_MS = 6 * 3_600_000


async def slow_disk(world: World) -> None:
    machine = world.victim()
    world.cluster.note(f"the disk of {machine.host} is slow")
    machine.pace.seconds = SLOW_DISK_SECONDS
    await world.some_time(4.0)
    machine.pace.seconds = DISK_SECONDS


async def full_disk(world: World) -> None:
    """An operator makes room, and may start the broker again, too. It must come back either way."""
    machine = world.victim()
    if machine.disk_is_bad:
        return
    world.cluster.note(f"the disk of {machine.host} is full")
    machine.disk_is_bad = True
    machine.disk.fill_up(world.chance.randint(0, 2_000))
    await world.some_time(4.0)
    if machine.lives % 2:
        machine.make_room()
    else:
        machine.replace_process()


async def low_disk(world: World) -> None:
    """The free space falls below the reserve, and what the brokers write for themselves still fits."""
    machine = world.victim()
    reserve = world.cluster.scenario.reserve_bytes
    if machine.disk_is_bad or not reserve:
        return
    world.cluster.note(f"the disk of {machine.host} has less free space than its reserve")
    machine.disk_is_bad = True
    machine.disk.fill_up(world.chance.randint(reserve // 2, reserve - 1))
    await world.some_time(6.0)
    machine.make_room()


async def failing_disk(world: World) -> None:
    """Every sync, write or read fails from some moment on, until an operator looks after it."""
    machine = world.victim()
    if machine.disk_is_bad:
        return
    operation = world.chance.choice(("write", "sync", "sync_dir", "read", "rename"))
    world.cluster.note(f"the disk of {machine.host} fails at each {operation}")
    machine.disk_is_bad = True
    machine.disk.fail(operation, number=world.chance.randint(1, 20))
    await world.some_time(4.0)
    machine.replace_process()


async def lost_disk(world: World) -> None:
    """A machine comes back with an empty disk. Alone: what every replica has must outlive any one of them."""
    machine = world.victim()
    voters = [len(view.raft.configuration.voters) for view in views(world.cluster) if view.is_controller]
    if why_not_whole(world.cluster) is not None or voters[0] < VOTERS_MIN:
        return
    machine.kill()
    machine.lose_disk()
    await world.some_time()
    start(machine)
    await _until_whole(world)


async def _until_whole(world: World) -> None:
    try:
        async with asyncio.timeout(20.0):
            while why_not_whole(world.cluster) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        world.cluster.note(f"still not whole: {why_not_whole(world.cluster)}")


async def ghost(world: World) -> None:
    """A follower comes back with an empty disk, and what it had asked its leader for arrives after that."""
    followed = world.followed(by_controller=False)
    voters = [len(view.raft.configuration.voters) for view in views(world.cluster) if view.is_controller]
    if followed is None or why_not_whole(world.cluster) is not None or voters[0] < VOTERS_MIN:
        return
    leader, follower = followed
    network = world.cluster.network
    world.cluster.note(f"fetches of {follower.host} come late")
    network.lateness.begin(1.0, (follower.host,), (2.0, 5.0), (ApiKey.FETCH,))
    await world.some_time(0.7)
    follower.kill()
    follower.lose_disk()
    network.lateness.end()
    # Its new process gets through to the controller, and not to the leader.
    blocked = network.paths.block([follower.host], [leader.host])
    await world.some_time(1.0)
    start(follower)
    await asyncio.sleep(world.chance.uniform(2.0, 4.0))
    network.paths.mend(blocked)
    await _until_whole(world)


async def clock_jump(world: World) -> None:
    machine = world.victim()
    machine.jump_clock(world.chance.choice((-1, 1)) * world.chance.choice((50, 5_000, HOURS_MS)))


async def clock_drift(world: World) -> None:
    machine = world.victim()
    machine.drift_clock(world.chance.choice((0.8, 0.95, 1.05, 1.25)))
    await world.some_time(4.0)
    machine.drift_clock(1.0)

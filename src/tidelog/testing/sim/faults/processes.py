"""Brokers and clients that die, stop, or stand still."""

import asyncio

from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.view import View, views
from tidelog.testing.sim.faults.world import World, start
from tidelog.wire.apis import ApiKey

LETTERS_SECONDS = 3.0
"""How long to wait for a write of dead letters."""
LOOK_SECONDS = 0.002


async def kill(world: World) -> None:
    """kill -9."""
    machine = world.victim()
    machine.kill()
    await world.some_time()
    start(machine)


async def kill_most(world: World) -> None:
    """Half of them, or more, or all."""
    machines = world.cluster.machines
    victims = world.chance.sample(machines, world.chance.randint((len(machines) + 1) // 2, len(machines)))
    for machine in victims:
        machine.kill()
    for machine in victims:
        await world.some_time(1.0)
        start(machine)


async def power(world: World) -> None:
    """Between two operations of the disk, or in the middle of one."""
    machine = world.victim()
    if world.chance.random() < 0.5:
        machine.cut_power()
    else:
        machine.disk.cut_power_soon(world.chance.randint(1, 30))
    await world.some_time()
    start(machine)


async def kill_neighbours(world: World) -> None:
    """A computer's kernel dies with all its brokers; what they wrote is on its disks."""
    machines = world.cluster.neighbours(world.victim())
    for machine in machines:
        machine.kill()
    await world.some_time()
    for machine in machines:
        start(machine)


async def power_of_neighbours(world: World) -> None:
    """A computer loses power, and all its brokers what they had not synced."""
    machines = world.cluster.neighbours(world.victim())
    for machine in machines:
        machine.cut_power()
    await world.some_time()
    for machine in machines:
        start(machine)


async def restart(world: World) -> None:
    """In order, as for an upgrade."""
    machine = world.victim()
    if not machine.serves or machine.is_paused:
        return
    await _stop(machine)
    await world.some_time(1.0)
    start(machine)


async def _stop(machine: Machine) -> None:
    try:
        async with asyncio.timeout(8.0):
            await machine.stop()
    except TimeoutError:
        machine.kill()  # as a supervisor does


async def pause(world: World) -> None:
    """SIGSTOP."""
    machine = world.victim()
    machine.pause()
    await world.some_time(4.0)
    machine.resume()


async def client_crash(world: World) -> None:
    world.crash_client(world.chance.randrange(100))


async def late_saves(world: World) -> None:
    """A leader's writes of share state arrive when another broker leads, which has read that state."""
    leader = world.queue_leader()
    if leader is None:
        return
    world.cluster.note(f"share state of {leader.host} comes late")
    await _late(world, leader, (1.0, 4.0), ApiKey.WRITE_SHARE_GROUP_STATE, stopped=0.4)


async def kill_letters(world: World) -> None:
    """A leader dies while it writes dead letters: they are there or not, and its successor must find out."""
    deadline = world.now + LETTERS_SECONDS
    while world.now < deadline:
        writing = [view.machine for view in views(world.cluster) if _writes_letters(view)]
        if writing:
            machine = world.chance.choice(writing)
            await asyncio.sleep(world.chance.choice((0.0, 0.001, 0.003, 0.01)))
            world.cluster.note(f"{machine.host} dies with dead letters")
            machine.kill()
            await world.some_time(1.0)
            start(machine)
            return
        await asyncio.sleep(LOOK_SECONDS)


def _writes_letters(view: View) -> bool:
    return any(led.is_loaded and led.share.dead_letters is not None for led in view.shares)


async def old_coordinator(world: World) -> None:
    """Markers of a coordinator arrive when another one has taken its place."""
    machine = world.coordinator()
    if machine is None:
        return
    world.cluster.note(f"markers of {machine.host} come late")
    await _late(world, machine, (2.0, 6.0), ApiKey.WRITE_TXN_MARKERS, stopped=0.7)


async def _late(
    world: World, machine: Machine, seconds: tuple[float, float], api: ApiKey, *, stopped: float
) -> None:
    """Requests of a broker arrive so much later, when it was stopped, with that probability, or killed."""
    lateness = world.cluster.network.lateness
    lateness.begin(0.7, (machine.host,), seconds, (api,))
    await world.some_time(1.0)
    if machine.serves and not machine.is_paused and world.chance.random() < stopped:
        await _stop(machine)
    else:
        machine.kill()
    lateness.end()
    await world.some_time(1.0)
    start(machine)

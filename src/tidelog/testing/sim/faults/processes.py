"""Brokers and clients that die, stop, or stand still."""

import asyncio

from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.faults.world import World, start
from tidelog.wire.apis import ApiKey


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


async def old_coordinator(world: World) -> None:
    """Markers of a coordinator arrive when another one has taken its place."""
    machine = world.coordinator()
    if machine is None:
        return
    lateness = world.cluster.network.lateness
    world.cluster.note(f"markers of {machine.host} come late")
    lateness.begin(0.7, (machine.host,), (2.0, 6.0), (ApiKey.WRITE_TXN_MARKERS,))
    await world.some_time(1.0)
    if machine.serves and not machine.is_paused and world.chance.random() < 0.7:
        await _stop(machine)
    else:
        machine.kill()
    lateness.end()
    await world.some_time(1.0)
    start(machine)

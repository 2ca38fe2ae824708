"""Brokers and clients that die, stop, or stand still."""

import asyncio

from tidelog.testing.sim.faults.world import World, start


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
    try:
        async with asyncio.timeout(8.0):
            await machine.stop()
    except TimeoutError:
        machine.kill()  # as a supervisor does
    await world.some_time(1.0)
    start(machine)


async def pause(world: World) -> None:
    """SIGSTOP."""
    machine = world.victim()
    machine.pause()
    await world.some_time(4.0)
    machine.resume()


async def client_crash(world: World) -> None:
    world.crash_client(world.chance.randrange(100))

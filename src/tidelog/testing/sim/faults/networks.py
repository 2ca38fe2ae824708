"""Paths that are blocked, clogged, slow, or lose what they carry."""

import asyncio

from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.network.paths import Path
from tidelog.wire.apis import ApiKey

Blocked = tuple[list[str], list[str]]


async def _block(world: World, what: str, *ways: Blocked) -> None:
    paths: list[Path] = []
    for sources, targets in ways:
        world.cluster.note(f"{what}: {','.join(sources)} to {','.join(targets)} is blocked")
        paths += world.cluster.network.paths.block(sources, targets)
    await world.some_time(5.0)
    world.cluster.note(f"{what} is mended")
    world.cluster.network.paths.mend(paths)


async def isolate(world: World) -> None:
    alone, *others = world.hosts()
    await _block(world, "isolate", ([alone], others), (others, [alone]))


async def deposed(world: World) -> None:
    """A coordinator is isolated from the other brokers, not from clients, for so long that it is replaced."""
    machine = world.coordinator()
    if machine is None:
        return
    others = [one.host for one in world.cluster.machines if one is not machine]
    world.cluster.note(f"{machine.host}, a coordinator, is isolated from {','.join(others)}")
    paths = world.cluster.network.paths
    blocked = [*paths.block([machine.host], others), *paths.block(others, [machine.host])]
    await asyncio.sleep(world.chance.uniform(3.0, 5.0))
    paths.mend(blocked)


async def halves(world: World) -> None:
    hosts = world.hosts()
    middle = world.chance.randint(1, len(hosts) - 1)
    await _block(world, "halves", (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle]))


async def one_way(world: World) -> None:
    hosts = world.hosts()
    middle = world.chance.randint(1, len(hosts) - 1)
    ways = (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle])
    await _block(world, "one way", world.chance.choice(ways))


async def ring(world: World) -> None:
    """Each broker reaches its neighbours only: each has a majority, and no two have the same."""
    hosts = world.hosts()
    count = len(hosts)
    apart = [
        ([one], [other])
        for here, one in enumerate(hosts)
        for there, other in enumerate(hosts)
        if (there - here) % count not in {0, 1, count - 1} or (count == 3 and 2 not in {here, there})
    ]
    await _block(world, "ring", *apart)


async def clog(world: World) -> None:
    """Nothing comes through for a while, then everything at once."""
    source, target = world.hosts()[:2] if len(world.cluster.machines) > 1 else ("n1", "n1")
    world.cluster.note(f"{source} to {target} is clogged")
    world.cluster.network.paths.clog(source, target, world.now + world.chance.uniform(0.2, 3.0))


async def loss(world: World) -> None:
    """Connections break; messages that are not answered get lost, repeat and overtake each other."""
    paths = world.cluster.network.paths
    paths.loss_rate = world.chance.choice((0.002, 0.02))
    paths.repeat_rate = world.chance.choice((0.0, 0.1, 0.5))
    paths.stray_rate = world.chance.choice((0.0, 0.1, 0.3))
    world.cluster.note("frames get lost")
    await world.some_time(4.0)
    paths.calm()


async def slow_network(world: World) -> None:
    paths = world.cluster.network.paths
    paths.slow_rate = world.chance.choice((0.02, 0.2, 0.5))
    world.cluster.note("the network is slow")
    await world.some_time(4.0)
    paths.slow_rate = 0.0


async def late(world: World) -> None:
    """Requests of brokers arrive long after they were given up and made again."""
    hosts = [machine.host for machine in world.cluster.machines]
    rate = world.chance.choice((0.02, 0.1, 0.3))
    apis = world.chance.choice((None, (ApiKey.WRITE_TXN_MARKERS,), (ApiKey.ALTER_PARTITION,)))
    name = "requests" if apis is None else apis[0].name
    world.cluster.note(f"{rate:.0%} of the {name} between brokers come late")
    world.cluster.network.lateness.begin(rate if apis is None else 0.5, hosts, (0.1, 4.0), apis)
    await world.some_time(4.0)
    world.cluster.network.lateness.end()


async def far(world: World) -> None:
    """A broker is far away: it is a few records behind, and hears of everything a little later."""
    alone, *others = world.hosts()
    seconds = world.chance.choice((0.03, 0.1, 0.3))
    world.cluster.note(f"{alone} is {seconds:g} s away")
    paths = world.cluster.network.paths
    paths.stretch([alone], others, seconds)
    paths.stretch(others, [alone], seconds)
    await world.some_time(5.0)
    paths.stretch([alone], others, 0.0)
    paths.stretch(others, [alone], 0.0)


async def flap(world: World) -> None:
    """A follower falls behind, catches up and falls behind again, and the request that says so comes late."""
    followed = world.followed(by_controller=False)
    if followed is None:
        return
    leader, follower = followed
    network = world.cluster.network
    for is_last in (False, True):
        world.cluster.note(f"flap: {follower.host} to {leader.host} is blocked")
        blocked = network.paths.block([follower.host], [leader.host])
        await asyncio.sleep(5.0 if is_last else world.chance.uniform(2.5, 3.5))
        if not is_last:
            network.lateness.begin(0.7, (leader.host,), (3.3, 5.0), (ApiKey.ALTER_PARTITION,))
        network.paths.mend(blocked)
        await asyncio.sleep(world.chance.uniform(0.1, 0.8))
        network.lateness.end()

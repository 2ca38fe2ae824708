"""Paths that are cut, clogged, slow, or lose what they carry."""

from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.paths import Path

Cut = tuple[list[str], list[str]]


async def _cut(world: World, what: str, *cuts: Cut) -> None:
    paths: list[Path] = []
    for sources, targets in cuts:
        world.cluster.note(f"{what}: {','.join(sources)} to {','.join(targets)} is cut")
        paths += world.cluster.network.paths.cut(sources, targets)
    await world.some_time(5.0)
    world.cluster.note(f"{what} is mended")
    world.cluster.network.paths.mend(paths)


async def isolate(world: World) -> None:
    alone, *others = world.hosts()
    await _cut(world, "isolate", ([alone], others), (others, [alone]))


async def halves(world: World) -> None:
    hosts = world.hosts()
    middle = world.chance.randint(1, len(hosts) - 1)
    await _cut(world, "halves", (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle]))


async def one_way(world: World) -> None:
    hosts = world.hosts()
    middle = world.chance.randint(1, len(hosts) - 1)
    ways = (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle])
    await _cut(world, "one way", world.chance.choice(ways))


async def ring(world: World) -> None:
    """Each reaches its neighbours only: everybody has a majority, and no two have the same."""
    hosts = world.hosts()
    count = len(hosts)
    apart = [
        ([one], [other])
        for here, one in enumerate(hosts)
        for there, other in enumerate(hosts)
        if (there - here) % count not in {0, 1, count - 1} or (count == 3 and 2 not in {here, there})
    ]
    await _cut(world, "ring", *apart)


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
    paths.slow_rate = world.chance.choice((0.02, 0.2))
    world.cluster.note("the network is slow")
    await world.some_time(4.0)
    paths.slow_rate = 0.0

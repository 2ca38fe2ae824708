"""Disks that change what was written, unnoticed."""

import asyncio

from tidelog.storage.file_names import LOG
from tidelog.testing.sim.cluster.convergence import why_not_whole
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.faults.world import World, start
from tidelog.testing.sim.runtime.disk import SimDisk
from tidelog.wire.batch import iter_batches

STOP_SECONDS = 8.0
WHOLE_SECONDS = 20.0


async def flipped_bit(world: World) -> None:
    """All brokers stop in order, and a bit of the last batch of each log flips where the last one stopped.

    That one is the last in-sync replica of what it led, and the others may not lead before it. Alone: what
    flips is on another disk, too, so nothing that was acknowledged may be lost.
    """
    if why_not_whole(world.cluster) is not None:
        return
    last = world.victim()
    others = [machine for machine in world.cluster.machines if machine is not last]
    for machine in (*others, last):
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await machine.stop()
        except TimeoutError:
            machine.kill()
    for path in _logs(last.disk):
        _flip(world, last, path, [machine.disk for machine in others])
    for machine in world.cluster.machines:
        start(machine)
    try:
        async with asyncio.timeout(WHOLE_SECONDS):
            while why_not_whole(world.cluster) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    except TimeoutError:
        world.cluster.note(f"still not whole: {why_not_whole(world.cluster)}")


def _flip(world: World, machine: Machine, path: str, others: list[SimDisk]) -> None:
    """Where another disk has the same batch at the end of this log."""
    content = _content(machine.disk, path)
    batches = [*iter_batches(content)]
    if not batches:
        return
    position, header = batches[-1]
    batch = content[position : position + header.size]
    partition_dir = path.rpartition("/")[0]
    if not any(
        batch in _content(disk, other)
        for disk in others
        for other in _logs(disk)
        if other.startswith(partition_dir)
    ):
        return
    # Neither the base offset nor the leader epoch is covered by the CRC.
    place = world.chance.randrange(position + 16, position + header.size)
    world.cluster.note(f"a bit of {path} flips on {machine.host}, in the batch of {header.base_offset}")
    machine.disk.flip_bit(path, place, world.chance.randrange(8))


def _content(disk: SimDisk, path: str) -> bytes:
    file = disk.open(path)
    return file.read_at(0, file.size())


def _logs(disk: SimDisk) -> list[str]:
    """The newest segment with something in it, of each partition."""
    newest: dict[str, str] = {}
    for parent in disk.names("/"):
        for name in disk.names(f"/{parent}"):
            partition_dir = f"/{parent}/{name}"
            if disk.is_dir(partition_dir) and not name.startswith("__cluster_metadata"):
                for file in disk.names(partition_dir):
                    if file.endswith(LOG) and disk.size(f"{partition_dir}/{file}"):
                        newest[partition_dir] = max(newest.get(partition_dir, ""), f"{partition_dir}/{file}")
    return list(newest.values())

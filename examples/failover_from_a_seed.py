"""A failover in the simulator: three real brokers on virtual time, the leader of a partition is killed.

    python examples/failover_from_a_seed.py 7

prints what happened, the same for the same seed each time. docs/tour.md explains the output.
"""

import asyncio
import os
import sys
import warnings

from tidelog.testing.history import Completion
from tidelog.testing.sim.cluster.scenario import rough
from tidelog.testing.sim.cluster.view import View, views
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.run import Result, run_seed

LOOK_SECONDS = 0.005


async def note_changes(world: World) -> None:
    """Writes into the trace what each broker takes for the truth, whenever that changes."""
    before: dict[str, str] = {}
    while True:
        for view in views(world.cluster):
            now = [f"is the controller in term {view.raft.term}"] if view.is_controller else []
            for partition in view.partitions:
                role = "leads" if partition.is_leader else f"follows {partition.leader_id}"
                now.append(f"{role} in epoch {partition.leader_epoch}, in sync {list(partition.isr)}")
            words = "; ".join(now)
            if words and before.get(view.life) != words:
                before[view.life] = words
                ends = [partition.log.end for partition in view.partitions]
                world.cluster.note(f"{view.life} {words}; log ends at {ends[0] if ends else 0}")
        await asyncio.sleep(LOOK_SECONDS)


def leads(view: View) -> bool:
    return any(partition.is_leader for partition in view.partitions)


async def kill_the_leader(world: World) -> None:
    noting = asyncio.create_task(note_changes(world))
    await asyncio.sleep(1)
    leader = next(view.machine for view in views(world.cluster) if leads(view))
    leader.kill()
    await asyncio.sleep(5)
    leader.start()
    await asyncio.sleep(2)
    noting.cancel()


def report(result: Result) -> str:
    lines = [line for line in result.lines if "WARNING tidelog.node" not in line]  # settings of a simulation
    sends = [one for one in result.history if one.kind == "send" and one.outcome is Completion.OK]
    slowest = max(sends, key=lambda one: one.ended - one.started)
    return "\n".join(
        [
            *lines,
            f"{len(sends)} sends acknowledged; the slowest took {slowest.ended - slowest.started:.2f} s, "
            f"from {slowest.started:.4f} to {slowest.ended:.4f}",
            f"{result.records_read} records read; problems: {result.problems or 'none'}",
            f"{result.virtual_seconds:.1f} virtual seconds, {result.steps} steps, trace {result.trace_hash}",
        ]
    )


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines that died before they began
    scenario = rough(seed, durability="fsync", acks=(-1,), sends_per_second=20.0)
    result = run_seed(seed, scenario, kill_the_leader)
    sys.stdout.write(report(result) + "\n")
    return 0 if result.ok else 1


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Python draws the order of sets of strings anew for each process; a replay must have the same.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    sys.exit(main())

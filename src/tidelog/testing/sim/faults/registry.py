"""Every fault by its name, and where it makes sense."""

from collections.abc import Awaitable, Callable

from tidelog.testing.sim.faults import damage, leader_changes, machines, networks, operations, processes
from tidelog.testing.sim.faults.world import World

Fault = Callable[[World], Awaitable[None]]

FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        processes.kill,
        processes.kill_most,
        processes.power,
        processes.kill_neighbours,
        processes.power_of_neighbours,
        processes.restart,
        processes.pause,
        processes.client_crash,
        networks.isolate,
        networks.halves,
        networks.one_way,
        networks.ring,
        networks.clog,
        networks.loss,
        networks.slow_network,
        machines.slow_disk,
        machines.full_disk,
        machines.low_disk,
        machines.failing_disk,
        machines.lost_disk,
        machines.clock_jump,
        machines.clock_drift,
        operations.reassign,
        operations.elect,
        operations.voters,
        processes.old_coordinator,
        processes.late_saves,
        processes.kill_letters,
        operations.drain,
        networks.deposed,
        networks.late,
        networks.far,
        networks.flap,
        machines.ghost,
        leader_changes.leader_change,
        leader_changes.left_behind,
        leader_changes.catching_up,
        damage.flipped_bit,
    )
}

ALONE = {"lost_disk", "ghost", "flipped_bit"}
"""Nothing else may happen before the cluster is whole again."""

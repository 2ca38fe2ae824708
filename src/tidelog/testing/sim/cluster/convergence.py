"""When a healed cluster is whole again: one controller, every replica in sync, no broker behind."""

from tidelog.metadata.image.entities import NO_LEADER
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.view import View, newest, views


def why_not_whole(cluster: SimCluster) -> str | None:
    """None once it is."""
    for machine in cluster.machines:
        if not machine.serves:
            return f"{machine.host} does not serve: {machine.failed_starts[-1:] or 'it is still starting'}"
    seen = views(cluster)
    controllers = [view.machine.id for view in seen if view.is_controller]
    if len(controllers) != 1:
        return f"the controllers are {controllers}"
    reason = _why_no_full_quorum(seen)
    if reason is not None:
        return reason
    best = newest(seen)
    for view in seen:
        if best is None or view.version < best.version:
            return f"{view.life} does not know all of the metadata"
    return _why_not_in_sync(cluster, seen, seen[0])


def _why_no_full_quorum(seen: list[View]) -> str | None:
    """Each vote must count: one whose disk is new has none before the others have agreed on that."""
    by_id = {view.machine.id: view for view in seen}
    for view in seen:
        if view.is_controller:
            for voter in view.raft.configuration.voters:
                if voter.id in by_id and voter.storage != by_id[voter.id].storage:
                    return f"the vote of {voter.id} does not count yet"
    return None


def _why_not_in_sync(cluster: SimCluster, seen: list[View], any_view: View) -> str | None:
    image = any_view.image
    for broker in image.brokers.values():
        if broker.fenced:
            return f"broker {broker.id} is fenced"
    for topic in image.topics.values():
        for partition in topic.partitions:
            name = f"{topic.name}-{partition.index}"
            if partition.leader == NO_LEADER:
                return f"{name} has no leader; its ISR is {partition.isr}"
            if set(partition.isr) != set(partition.replicas):
                return f"{name} has the ISR {partition.isr} of {partition.replicas}"
            for view in seen:
                if view.machine.id not in partition.replicas:
                    continue
                hosted = view.partition(topic.id, partition.index)
                if hosted is None or hosted.leader_epoch != partition.leader_epoch:
                    return f"{view.life} has not heard of {name}'s leader"
    return None

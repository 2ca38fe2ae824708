"""Which replicas outside the in-sync set may still lead cleanly: the eligible leader replicas of KIP-966.

A leader does not move its high watermark while fewer than `min.insync.replicas` are in sync. So a replica
that leaves the set then, or has left it since, holds everything below the high watermark, and so all that
was acknowledged. That ends when enough are in sync again, or when it may have lost part of its log.
"""

from collections.abc import Collection

from tidelog.base.ids import NodeId
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage


def eligible_replicas(
    old: PartitionImage,
    replicas: Collection[NodeId],
    isr: Collection[NodeId],
    *,
    needed: int,
    bad: Collection[NodeId] = (),
) -> tuple[NodeId, ...]:
    """The eligible leader replicas of a partition that is about to have these replicas and this in-sync set.

    `needed` in sync let the high watermark move; 0 where the cluster keeps no eligible leader replicas. Those
    that are `bad` may lack part of what was acknowledged.
    """
    if len(isr) >= needed:
        return ()
    return tuple(
        replica
        for replica in replicas
        if (replica in old.isr or replica in old.elr) and replica not in isr and replica not in bad
    )


def last_leader(
    old: PartitionImage, replicas: Collection[NodeId], isr: Collection[NodeId], *, lost: Collection[NodeId]
) -> tuple[NodeId, ...]:
    """The last leader of a partition that has no in-sync replica left.

    Before the cluster kept eligible leader replicas, that replica stayed in the in-sync set, alone.
    """
    if isr:
        return ()
    last = (old.last_known_elr or old.isr[:1]) if old.leader == NO_LEADER else (old.leader,)
    return tuple(replica for replica in last if replica in replicas and replica not in lost)

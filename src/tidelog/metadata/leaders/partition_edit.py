"""Turns a change of a partition into one small record, or none if nothing changes.

Whatever the reason for a change, the same things follow: a reassignment whose target is in sync is
completed, a leader is elected, epochs grow. The partition epoch grows with each change; the leader epoch
with each new leader, and when a replica leaves, so that it cannot fetch on under the old one.
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tidelog.base.ids import NodeId, Uuid, uuid_text
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.image.records import PartitionChanged
from tidelog.metadata.leaders.election_rules import Candidates, Election, ElectionRules
from tidelog.metadata.leaders.eligible import eligible_replicas, last_leader

Replicas = tuple[NodeId, ...]


def without(replicas: Replicas, gone: Collection[NodeId]) -> Replicas:
    return tuple(replica for replica in replicas if replica not in gone)


def edit_partition(
    topic: TopicImage,
    old: PartitionImage,
    rules: ElectionRules,
    *,
    isr: Replicas | None = None,
    replicas: Replicas | None = None,
    adding: Replicas | None = None,
    removing: Replicas | None = None,
    directories: Mapping[NodeId, Uuid] | None = None,
    election: Election = Election.CLEAN,
    lost: Collection[NodeId] = (),
    doubted: Collection[NodeId] = (),
    new_epoch: bool = False,
) -> PartitionChanged | None:
    """None for a field: as it was. `directories` names those replicas that have another one now.

    `lost` names replicas that lost their data, `doubted` those that may lack the end of it: neither is
    trusted with a clean election, the former not even as the last known leader. Any other member of an
    in-sync set holds all that was acknowledged, also while it may not lead: the last one stays in the set,
    or becomes an eligible leader replica where the cluster keeps these.
    """
    bad = (*lost, *doubted)
    isr = without(old.isr if isr is None else isr, bad)
    replicas = old.replicas if replicas is None else replicas
    adding = old.adding if adding is None else adding
    removing = old.removing if removing is None else removing
    if adding or removing:
        replicas, isr, adding, removing = _completed(replicas, isr, adding, removing)
    places = None
    if directories or replicas != old.replicas:
        places = _directories(old, replicas, rules, directories or {})
        if replicas == old.replicas and places == tuple(map(old.directory_of, replicas)):
            places = None
    judged = old if places is None else replace(old, replicas=replicas, directories=places)
    needed = rules.needed_in_sync(topic, replicas) if rules.has_elr else 0
    elr = eligible_replicas(old, replicas, isr, needed=needed, bad=bad)
    last_known = last_leader(old, replicas, isr, lost=lost) if rules.has_elr else ()
    leader = rules.elect(judged, Candidates(replicas, isr, elr, last_known), election)
    if leader != NO_LEADER and leader not in isr:
        isr = (leader,)
        # Unclean: no other replica is known to hold the same records.
        was_clean = leader in elr
        elr = eligible_replicas(old, replicas, isr, needed=needed, bad=bad) if was_clean else ()
        new_epoch = True
    elif leader not in (old.leader, NO_LEADER) and rules.is_stopping(old.leader):
        isr = without(isr, (old.leader,))
        elr = eligible_replicas(old, replicas, isr, needed=needed, bad=bad)
    if not isr and not lost and not rules.has_elr:
        isr = old.isr
    if leader != NO_LEADER:
        last_known = ()
    shrunk = replicas is not old.replicas and not set(replicas).issuperset(old.replicas)
    new_epoch = new_epoch or leader != old.leader or shrunk
    changed = PartitionChanged(
        uuid_text(topic.id),
        old.index,
        old.partition_epoch + 1,
        leader=leader if new_epoch else None,
        leader_epoch=old.leader_epoch + 1 if new_epoch else None,
        isr=isr if isr != old.isr else None,
        replicas=replicas if replicas != old.replicas else None,
        adding=adding if adding != old.adding else None,
        removing=removing if removing != old.removing else None,
        directories=None if places is None else tuple(map(uuid_text, places)),
        elr=elr if elr != old.elr else None,
        last_known_elr=last_known if last_known != old.last_known_elr else None,
    )
    is_same = changed == PartitionChanged(changed.topic_id, old.index, old.partition_epoch + 1)
    return None if is_same else changed


def _completed(
    replicas: Replicas, isr: Replicas, adding: Replicas, removing: Replicas
) -> tuple[Replicas, Replicas, Replicas, Replicas]:
    """A reassignment is done when every replica that stays is in sync; then the others go."""
    target, target_isr = without(replicas, removing), without(isr, removing)
    if not target or not set(target).issubset(target_isr):
        return replicas, isr, adding, removing
    return target, target_isr, (), ()


def _directories(
    old: PartitionImage, replicas: Replicas, rules: ElectionRules, reported: Mapping[NodeId, Uuid]
) -> tuple[Uuid, ...]:
    return tuple(
        reported[replica]
        if replica in reported
        else old.directory_of(replica)
        if replica in old.replicas
        else rules.directory_for_new_replica(replica)
        for replica in replicas
    )

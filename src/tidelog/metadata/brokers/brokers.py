"""Decisions on brokers: registration, fencing and unfencing, controlled shutdown, unregistration.

Each of these moves leaders and in-sync sets along, in the same batch of records: no image ever shows a
fenced broker that leads. A broker that holds the last in-sync replica stays in the set while it is away,
and the partition waits for it without a leader, unless the topic asks for unclean elections.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import ZERO_UUID, Epoch, NodeId, Uuid, uuid_text
from tidelog.metadata.brokers.registration_rules import (
    Ended,
    check_broker,
    check_broker_epoch,
    check_directories,
    check_endpoints,
    check_features,
    check_not_running,
    check_registered,
    lost_its_data,
    may_lack_records,
)
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.entities import NO_LEADER, BrokerImage, PartitionImage, TopicImage
from tidelog.metadata.image.image import MACHINE_VERSION, ClusterImage
from tidelog.metadata.image.records import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterCreated,
    Endpoint,
    FeatureRange,
    PartitionChanged,
    Record,
)
from tidelog.metadata.leaders.election_rules import ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition, without
from tidelog.metadata.topics.cordons import without_cordon


class ShutdownProgress(msgspec.Struct, frozen=True):
    """A partition that a stopping broker still leads. True while waiting can still help."""

    leads: int
    """Partitions that it goes on leading, since no other in-sync replica may."""
    waits_for: int
    """Those of them that have another live replica, which may yet catch up and take over."""

    def __bool__(self) -> bool:
        return self.waits_for > 0


def decide_create_cluster(image: ClusterImage, *, cluster_id: str) -> Decision[str]:
    """The result is the cluster's id: the given one, or the one that it has had since it began."""
    if image.cluster_id:
        return Decision([], [image.cluster_id])
    return Decision([ClusterCreated(cluster_id)], [cluster_id])


def decide_register_broker(
    image: ClusterImage,
    *,
    broker_id: NodeId,
    epoch: Epoch,
    incarnation: Uuid,
    endpoints: Sequence[Endpoint],
    rack: str | None = None,
    machine: str | None = None,
    directories: Sequence[Uuid] = (),
    features: Sequence[FeatureRange] = (),
    fenced: bool = False,
    ended: Ended = Ended.CLEAN,
    session_alive: bool = False,
    config: BrokerConfig | None = None,
) -> Decision[Epoch]:
    """`epoch` is the end of the metadata log: it grows, so a later registration always has a larger one.

    A broker comes in fenced, and so out of all in-sync sets: it has to catch up first. Only the controller
    of a quorum of one may register itself unfenced; after a crash it hands over what others hold, and leads
    the rest under new epochs. A replica whose directory is away does not lead. One whose directory is gone
    for good is out of the in-sync set even as its last member: the partition then has no leader until an
    unclean election, rather than one with fewer records. `ended` says how the earlier process did.
    The machine is left out while the cluster may have brokers of an earlier version, which would stop at it.
    """
    known = image.brokers.get(broker_id)
    if known is not None and known.incarnation == incarnation != ZERO_UUID:
        return Decision([], [known.epoch])  # the same process asks again: its first answer was lost
    check_not_running(known, session_alive)
    check_broker(broker_id, rack, machine)
    check_endpoints(endpoints)
    check_directories(image, broker_id, directories)
    check_features(image, features)
    record = BrokerRegistered(
        broker_id,
        epoch,
        uuid_text(incarnation),
        tuple(endpoints),
        rack,
        tuple(map(uuid_text, directories)),
        fenced,
        tuple(features),
        machine if image.features.get(MACHINE_VERSION) else None,
    )
    broker = BrokerImage(broker_id, epoch, incarnation, {}, directories=tuple(directories), fenced=fenced)
    rules = ElectionRules.of(image, config, broker)
    records: list[Record] = [record]
    for topic, partition in image.partitions():
        if broker_id in partition.replicas:
            lost = lost_its_data(partition, broker_id, known, directories)
            change = _after_registration(topic, partition, broker, rules, lost=lost, ended=ended)
            if change is not None:
                records.append(change)
    return Decision(records, [epoch])


def decide_fence_broker(
    image: ClusterImage, broker_id: NodeId, config: BrokerConfig | None = None
) -> Decision[None]:
    """The broker's session expired, or it asked to be fenced. Other replicas lead its partitions where they
    may."""
    broker = check_registered(image, broker_id)
    if broker.fenced:
        return Decision([], [None])
    rules = ElectionRules.of(image, config, msgspec.structs.replace(broker, fenced=True))
    records: list[Record] = [BrokerChanged(broker_id, broker.epoch, fenced=True)]
    records += _leave_in_sync_sets(image, broker_id, rules)
    return Decision(records, [None])


def decide_unfence_broker(
    image: ClusterImage, broker_id: NodeId, epoch: Epoch, config: BrokerConfig | None = None
) -> Decision[None]:
    """The broker has caught up with the metadata: it may lead again, and leads partitions without a
    leader."""
    broker = check_broker_epoch(image, broker_id, epoch)
    if not broker.fenced:
        return Decision([], [None])
    rules = ElectionRules.of(image, config, msgspec.structs.replace(broker, fenced=False))
    records: list[Record] = [BrokerChanged(broker_id, broker.epoch, fenced=False)]
    for topic, partition in image.partitions():
        if partition.leader == NO_LEADER:
            election = rules.election_for(topic)
            change = edit_partition(topic, partition, rules, election=election)
            if change is not None:
                records.append(change)
    return Decision(records, [None])


def decide_unregister_broker(
    image: ClusterImage, broker_id: NodeId, config: BrokerConfig | None = None
) -> Decision[None]:
    """Removes the broker. Partitions still list it as a replica until they are reassigned."""
    broker = check_registered(image, broker_id)
    rest = {id: other for id, other in image.brokers.items() if id != broker_id}
    records: list[Record] = [BrokerUnregistered(broker_id, broker.epoch)]
    records += without_cordon(image, broker_id)
    rules = ElectionRules(rest, config, has_elr=image.has_elr)
    records += _leave_in_sync_sets(image, broker_id, rules)
    return Decision(records, [None])


def decide_controlled_shutdown(
    image: ClusterImage, broker_id: NodeId, config: BrokerConfig | None = None
) -> Decision[ShutdownProgress]:
    """Move leaders away while both sides are alive. Decided anew with each heartbeat, until none is left.

    The broker leaves the in-sync sets where others remain. Where it is the last one it goes on leading: it
    serves to the end, and a follower that catches up meanwhile becomes leader. Never unclean: no broker
    failed.
    """
    broker = check_registered(image, broker_id)
    rules = ElectionRules.of(image, config, msgspec.structs.replace(broker, shutting_down=True))
    records: list[Record] = []
    if not broker.shutting_down:
        records.append(BrokerChanged(broker_id, broker.epoch, shutting_down=True))
    leads = waits_for = 0
    for topic, partition in image.partitions():
        if broker_id not in partition.isr:
            continue
        rest = without(partition.isr, (broker_id,))
        if any(rules.may_lead(partition, other) for other in rest):
            change = edit_partition(topic, partition, rules, isr=rest)
            if change is not None:
                records.append(change)
        elif partition.leader == broker_id:
            leads += 1
            waits_for += any(rules.may_lead(partition, other) for other in partition.replicas)
    return Decision(records, [ShutdownProgress(leads, waits_for)])


def _after_registration(
    topic: TopicImage,
    partition: PartitionImage,
    broker: BrokerImage,
    rules: ElectionRules,
    *,
    lost: bool,
    ended: Ended,
) -> PartitionChanged | None:
    election = rules.election_for(topic)
    rest = without(partition.isr, (broker.id,))
    if lost:
        return edit_partition(
            topic,
            partition,
            rules,
            isr=rest,
            directories={broker.id: broker.directory_for_new_replica()},
            election=election,
            lost=(broker.id,),
        )
    crashed = ended is not Ended.CLEAN
    if rules.has_elr and may_lack_records(topic, ended):
        # Other replicas may hold what it lost; if none does, the last leader leads again.
        return edit_partition(topic, partition, rules, isr=rest, doubted=(broker.id,), election=election)
    is_away = not broker.has_online(partition.directory_of(broker.id))
    if broker.fenced or (rest and (crashed or is_away)):
        return edit_partition(topic, partition, rules, isr=rest, election=election)
    led = partition.leader == broker.id
    return edit_partition(topic, partition, rules, election=election, new_epoch=led and crashed)


def _leave_in_sync_sets(
    image: ClusterImage, broker_id: NodeId, rules: ElectionRules
) -> Iterable[PartitionChanged]:
    for topic, partition in image.partitions():
        if broker_id in partition.isr:
            change = edit_partition(
                topic,
                partition,
                rules,
                isr=without(partition.isr, (broker_id,)),
                election=rules.election_for(topic),
            )
            if change is not None:
                yield change

"""What this broker does with each metadata change: stages that run in a fixed order before it is answered.

The order is part of the broker's correctness, so every stage names the stages it builds on:

    partitions    opens, closes and deletes logs, and makes replicas leaders or followers. First, because the
                  coordinators ask it which partitions this broker leads now, and in which epoch.
    groups        takes over the groups of `__consumer_offsets` partitions that this broker leads since the
                  change and leaves the others; waits until the offsets of deleted topics are gone on every
                  replica. Ahead of the new roles it would load, or go on serving, the wrong groups.
    transactions  the same for `__transaction_state`. It writes the markers of transactions that were about to
                  end, also to `__consumer_offsets`, whose partitions refuse them until their groups are
                  loaded. Groups begin to load first, which spares a refusal and a retry. Coordinators run in
                  the order of their registration.
    shares        the same for `__share_group_state`; also forgets the states of topics that are deleted.
    lifecycle     sends a heartbeat at once if another broker is shutting down. The heartbeat tells the
                  controller how far this broker has come, and the other broker may stop because of it: by
                  then this broker must have taken over what it now leads, coordinators included.
    controller    notes that configs have changed, and looks for missing leaders later. Builds on no other.
    limits        applies the limits of connections and the quotas of clients. Builds on no other.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tidelog.base.invariant import invariant
from tidelog.broker.controller.metadata_service import Listener, MetadataService
from tidelog.broker.requests.context import Services


class MetadataStage(NamedTuple):
    name: str
    on_change: Listener
    after: tuple[str, ...] = ()
    """The stages that must have acted on a change before this one does; see the top of this file."""


def metadata_stages(services: Services, change_limits: Callable[[], None]) -> list[MetadataStage]:
    metadata, partitions = services.metadata, services.partitions
    stages = [MetadataStage("partitions", lambda delta: partitions.on_change(delta, metadata.config))]
    for service in services.coordinators:
        earlier = tuple(stage.name for stage in stages)
        stages.append(MetadataStage(service.registration.name, service.on_change, after=earlier))
    return [
        *stages,
        MetadataStage("lifecycle", services.lifecycle.on_change, after=tuple(stage.name for stage in stages)),
        MetadataStage("controller", services.controller.on_change),
        MetadataStage("limits", lambda _: change_limits()),
    ]


def listen(metadata: MetadataService, stages: Iterable[MetadataStage]) -> None:
    """Run the stages, in this order, with every change from now on."""
    listening: set[str] = set()
    for stage in stages:
        missing = [name for name in stage.after if name not in listening]
        invariant(not missing, f"the metadata stage {stage.name} must come after {', '.join(missing)}")
        listening.add(stage.name)
        metadata.on_change(stage.on_change)

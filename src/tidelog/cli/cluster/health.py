"""What is wrong with a cluster, and what to do about it: pure findings over what was seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tidelog.cli.cluster.quorum import Quorum
from tidelog.cli.cluster.view import ClusterView, Partition, numbers_text
from tidelog.cli.partition_choice import places_text
from tidelog.clients.records import TopicPartition

PLACES_SHOWN = 20


class Health(Enum):
    """Worst last."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """Everything can be read and written, but a further loss may change that."""
    IMPAIRED = "impaired"
    """Some partitions cannot be written, or not read either, or the cluster cannot be changed."""


@dataclass(frozen=True, slots=True)
class Finding:
    health: Health
    what: str
    attempt: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    view: ClusterView
    quorum: Quorum | None
    reassigning: Sequence[TopicPartition]
    min_in_sync: Mapping[str, int] = field(default_factory=dict)
    """For the topics whose in-sync sets are short; others are not asked for."""

    @property
    def leaderless(self) -> list[Partition]:
        return [part for part in self.view.partitions.values() if part.leader is None]

    @property
    def unusable(self) -> list[Partition]:
        """Without a leader, with a replica that is offline although its broker is alive: it is damaged."""
        return [part for part in self.leaderless if any(map(self._is_alive, part.offline))]

    def _is_alive(self, broker_id: int) -> bool:
        broker = self.view.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def _holders(self, parts: Sequence[Partition]) -> str:
        return numbers_text(sorted({id for part in parts for id in part.offline if self._is_alive(id)}))

    @property
    def under_replicated(self) -> list[Partition]:
        # A reassignment under way has replicas that are still being filled; nothing is wrong with that.
        busy = set(self.reassigning)
        return [
            part
            for part in self.view.partitions.values()
            if part.is_under_replicated and part.place not in busy
        ]

    @property
    def below_min_in_sync(self) -> list[Partition]:
        return [
            part
            for part in self.view.partitions.values()
            # A topic with fewer replicas than the setting asks for is written when all of them are there.
            if len(part.in_sync) < min(self.min_in_sync.get(part.place.topic, 1), len(part.replicas))
        ]

    @property
    def away_from_preferred(self) -> list[Partition]:
        busy = set(self.reassigning)
        return [
            part
            for part in self.view.partitions.values()
            if part.leader not in (None, part.preferred) and part.place not in busy
        ]

    @property
    def electable(self) -> list[Partition]:
        """Those whose preferred leader could lead right now."""
        return [part for part in self.away_from_preferred if part.preferred in part.in_sync]

    @property
    def health(self) -> Health:
        order = list(Health)
        return max((finding.health for finding in self.findings()), key=order.index, default=Health.HEALTHY)

    def findings(self) -> list[Finding]:
        return [*self._about_brokers(), *self._about_partitions()]

    def _about_brokers(self) -> list[Finding]:
        found = []
        if self.quorum is None:
            found.append(
                Finding(
                    Health.IMPAIRED,
                    "The metadata quorum has no leader: topics and leaders cannot change.",
                    "start the brokers that are down; more than half of the voters must be up",
                )
            )
        fenced = [broker.id for broker in self.view.brokers.values() if broker.fenced]
        if fenced:
            who = f"Broker {fenced[0]} is" if len(fenced) == 1 else f"Brokers {numbers_text(fenced)} are"
            found.append(
                Finding(
                    Health.DEGRADED,
                    f"{who} registered, but not alive.",
                    f"start it again, or remove it: tidelog cluster drain {fenced[0]}",
                )
            )
        return found

    def _about_partitions(self) -> list[Finding]:
        found = []
        leaderless, unusable = self.leaderless, self.unusable
        away = [part for part in leaderless if part not in unusable]
        below = [part for part in self.below_min_in_sync if part not in leaderless]
        under = [part for part in self.under_replicated if part not in leaderless and part not in below]
        if unusable:
            found.append(
                Finding(
                    Health.IMPAIRED,
                    f"{counted(unusable)} without a leader, with a damaged replica: "
                    f"{places_shown(unusable)}.",
                    f"see what is lost in the log of broker {self._holders(unusable)}; start the brokers "
                    "whose replicas may have it",
                )
            )
        if away:
            found.append(
                Finding(
                    Health.IMPAIRED,
                    f"{counted(away)} without a leader: {places_shown(away)}.",
                    "start the brokers that hold them; if they are lost for good: "
                    "tidelog cluster elect-leaders --unclean TOPIC:PARTITION, which may lose records",
                )
            )
        if below:
            found.append(
                Finding(
                    Health.IMPAIRED,
                    f"{counted(below)} with fewer in-sync replicas than min.insync.replicas, so that "
                    f"acks=all is refused: {places_shown(below)}.",
                    "start the brokers that are down",
                )
            )
        if under:
            found.append(
                Finding(
                    Health.DEGRADED,
                    f"{counted(under)} with replicas that are not in sync: {places_shown(under)}.",
                    "wait until they have caught up"
                    if len(self.view.alive) == len(self.view.brokers)
                    else "start the brokers that are down, then wait until they have caught up",
                )
            )
        return found

    def as_json(self) -> dict[str, Any]:
        view, quorum = self.view, self.quorum
        return {
            "cluster_id": view.cluster_id,
            "health": self.health.value,
            "controller": quorum.leader if quorum else None,
            "brokers": {"registered": len(view.brokers), "alive": len(view.alive)},
            "machines": {name: [one.id for one in brokers] for name, brokers in view.machines.items()},
            "quorum": None
            if quorum is None
            else {
                "leader": quorum.leader,
                "epoch": quorum.epoch,
                "high_watermark": quorum.high_watermark,
                "voters": [member.id for member in quorum.voters],
                "observers": [member.id for member in quorum.members if not member.votes],
            },
            "topics": len(view.topics),
            "partitions": len(view.partitions),
            "replicas": sum(len(part.replicas) for part in view.partitions.values()),
            "leaderless": _places_json(self.leaderless),
            "under_replicated": _places_json(self.under_replicated),
            "below_min_in_sync": _places_json(self.below_min_in_sync),
            "away_from_preferred_leader": _places_json(self.away_from_preferred),
            "reassigning": [
                {"topic": place.topic, "partition": place.partition} for place in self.reassigning
            ],
            "findings": [
                {"health": finding.health.value, "what": finding.what, "try": finding.attempt}
                for finding in self.findings()
            ],
        }


def counted(partitions: Sequence[Partition]) -> str:
    return f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''}"


def places_shown(partitions: Sequence[Partition]) -> str:
    more = f" and {len(partitions) - PLACES_SHOWN} more" if len(partitions) > PLACES_SHOWN else ""
    return places_text(part.place for part in partitions[:PLACES_SHOWN]) + more


def _places_json(partitions: Sequence[Partition]) -> list[dict[str, Any]]:
    return [{"topic": part.place.topic, "partition": part.place.partition} for part in partitions]

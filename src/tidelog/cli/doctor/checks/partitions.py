"""Partitions without a leader, without enough in-sync replicas, or with replicas that lag; uneven leaders."""

from collections import Counter
from collections.abc import Iterator

from tidelog.cli.cluster.health import counted, places_shown
from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

UNEVEN_FACTOR = 1.5
UNEVEN_MIN = 6
"""Fewer partitions than that to a broker are no load worth moving."""


def check_partitions(facts: DoctorFacts) -> Iterator[CheckFinding]:
    report = facts.report
    leaderless = report.leaderless
    if leaderless:
        yield CheckFinding(
            "partitions-offline",
            Severity.SERIOUS,
            places_shown(leaderless),
            f"{counted(leaderless)} without a leader",
            "they can be neither read nor written.",
            "start the brokers that hold them; if these are lost for good: tidelog cluster "
            "elect-leaders --unclean TOPIC:PARTITION, which may lose records",
        )
    below = [part for part in report.below_min_in_sync if part not in leaderless]
    if below:
        yield CheckFinding(
            "below-min-in-sync",
            Severity.SERIOUS,
            places_shown(below),
            f"{counted(below)} with fewer in-sync replicas than min.insync.replicas",
            "producers with acks=all are refused.",
            "start the brokers that are down, or see why their replicas lag",
        )
    lagging = [part for part in report.under_replicated if part not in leaderless and part not in below]
    if lagging:
        behind = Counter(id for part in lagging for id in part.replicas if id not in part.in_sync)
        brokers = ", ".join(f"broker {id} with {count}" for id, count in sorted(behind.items()))
        yield CheckFinding(
            "replicas-lag",
            Severity.MEDIUM,
            places_shown(lagging),
            f"{counted(lagging)} with replicas that are not in sync: {brokers}",
            "the loss of another broker may stop writes.",
            "start the brokers that are down; on one that is up, see its disk, its network and "
            "replica.lag.time.max.ms",
        )


def check_leaders(facts: DoctorFacts) -> Iterator[CheckFinding]:
    view = facts.report.view
    if electable := facts.report.electable:
        yield CheckFinding(
            "not-preferred-leaders",
            Severity.LOW,
            places_shown(electable),
            f"{counted(electable)} led by another than the preferred leader",
            "the load is not where it was planned.",
            "tidelog cluster elect-leaders",
        )
    alive = [broker.id for broker in view.alive]
    led = Counter(part.leader for part in view.partitions.values() if part.leader in alive)
    total = sum(led.values())
    if len(alive) < 2 or total < UNEVEN_MIN * len(alive):
        return
    even = total / len(alive)
    most = max(alive, key=lambda id: led[id])
    if led[most] > UNEVEN_FACTOR * even:
        yield CheckFinding(
            "leaders-uneven",
            Severity.MEDIUM,
            f"broker {most}",
            f"it leads {led[most]} partitions, where {even:.0f} would be its share",
            "it does more than its part of the work, and its clients wait for it.",
            "tidelog cluster rebalance",
        )

"""Groups that are stuck: rebalancing for long, or without members while records wait."""

from collections.abc import Iterator

from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.group.lag import total

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def check_groups(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for name in facts.rebalancing:
        yield CheckFinding(
            "group-rebalancing",
            Severity.MEDIUM,
            f"group '{name}'",
            "it has been rebalancing all the time that this command looked",
            "its members read little meanwhile; one of them joins again and again, or is too slow.",
            f"tidelog group members {name} --watch; raise max.poll.interval.ms and session.timeout.ms of its "
            "consumers, or set group.instance.id",
        )
    for group in facts.groups:
        lag = total(group.partitions)["lag"]
        if group.info.state == "Empty" and lag:
            yield CheckFinding(
                "group-without-members",
                Severity.LOW,
                f"group '{group.info.name}'",
                f"it has no members, and {lag:,} records wait for it",
                "its consumers are down, or it is no longer used.",
                f"start its consumers, or remove it: tidelog group delete {group.info.name}",
            )

"""Settings that are dangerous, or dangerous together."""

from collections.abc import Iterator

from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

MIN_IN_SYNC, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
TOPIC_SETTINGS = (MIN_IN_SYNC, UNCLEAN)
DEFAULT_REPLICAS, DURABILITY = "default.replication.factor", "durability"
BROKER_SETTINGS = (DEFAULT_REPLICAS, DURABILITY)


def check_topic_settings(facts: DoctorFacts) -> Iterator[CheckFinding]:
    replicas: dict[str, int] = {}
    for part in facts.report.view.partitions.values():
        replicas[part.place.topic] = min(
            len(part.replicas), replicas.get(part.place.topic, len(part.replicas))
        )
    brokers = facts.report.view.computers
    for topic, settings in sorted(facts.topic_settings.items()):
        count, where = replicas.get(topic, 0), f"topic '{topic}'"
        wanted = int(settings.get(MIN_IN_SYNC) or 1)
        if count and wanted > count:
            yield CheckFinding(
                "min-in-sync-above-replicas",
                Severity.MEDIUM,
                where,
                f"{MIN_IN_SYNC} is {wanted}, and it has {count} replica{'s' if count != 1 else ''}",
                "the setting promises copies that do not exist; as many as exist are waited for.",
                f"tidelog topic reassign with more replicas, or tidelog config set topic {topic} "
                f"{MIN_IN_SYNC}={max(1, count - 1)}",
            )
        elif count > 1 and wanted == count:
            yield CheckFinding(
                "no-replica-to-spare",
                Severity.LOW,
                where,
                f"{MIN_IN_SYNC} is {wanted}, as many as it has replicas",
                "every restart of a broker refuses producers with acks=all.",
                f"tidelog config set topic {topic} {MIN_IN_SYNC}={count - 1}, or one replica more",
            )
        elif count > 1 and wanted == 1:
            yield CheckFinding(
                "acks-all-of-one",
                Severity.LOW,
                where,
                f"{MIN_IN_SYNC} is 1",
                "acks=all may mean one copy, which is lost with its disk.",
                f"tidelog config set topic {topic} {MIN_IN_SYNC}=2",
            )
        if count == 1 and brokers > 1 and not topic.startswith("__"):
            yield CheckFinding(
                "single-replica",
                Severity.LOW,
                where,
                "it has a single replica",
                "it is away while its broker restarts, and lost with that broker's disk.",
                "tidelog topic reassign, with two or three replicas",
            )
        if settings.get(UNCLEAN) == "true":
            yield CheckFinding(
                "unclean-elections",
                Severity.MEDIUM,
                where,
                f"{UNCLEAN} is on",
                "after a failure a replica without the newest records may lead, and these are lost.",
                f"tidelog config set topic {topic} {UNCLEAN}=false",
            )


def check_broker_settings(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for broker, settings in sorted(facts.broker_settings.items()):
        where, brokers = f"broker {broker}", facts.report.view.computers
        if brokers >= 3 and settings.get(DEFAULT_REPLICAS) == "1":
            yield CheckFinding(
                "one-replica-by-default",
                Severity.LOW,
                where,
                f"{DEFAULT_REPLICAS} is 1 in a cluster of {brokers} brokers",
                "new topics have no second copy unless their creator asks for one.",
                f"set {DEFAULT_REPLICAS}=3",
            )
        if brokers == 1 and settings.get(DURABILITY) not in (None, "fsync"):
            yield CheckFinding(
                "acknowledged-before-sync",
                Severity.MEDIUM,
                where,
                f"{DURABILITY} is {settings[DURABILITY]}, and there is no other broker",
                "a power cut loses records that were acknowledged.",
                f"set {DURABILITY}=fsync, or replicate to more brokers",
            )

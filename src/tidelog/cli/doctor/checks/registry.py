"""The schema registry: a port at every broker or at none, and a topic that can hold it."""

from collections.abc import Iterator

from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.metadata.topics.names import SCHEMAS

REGISTRY_PORT, CLEANUP = "schema.registry.port", "cleanup.policy"


def check_registry(facts: DoctorFacts) -> Iterator[CheckFinding]:
    ports = {
        broker: settings[REGISTRY_PORT]
        for broker, settings in sorted(facts.broker_settings.items())
        if REGISTRY_PORT in settings
    }
    off = [broker for broker, port in ports.items() if port == "0"]
    if len(off) == len(ports):
        return
    for broker in off:
        yield CheckFinding(
            "registry-not-everywhere",
            Severity.MEDIUM,
            f"broker {broker}",
            f"{REGISTRY_PORT} is 0, and other brokers serve the schema registry",
            f"while this broker leads {SCHEMAS}, no broker answers for the registry.",
            f"set {REGISTRY_PORT} on it, and restart it",
        )
    yield from _check_topic(facts)


def _check_topic(facts: DoctorFacts) -> Iterator[CheckFinding]:
    partitions = sum(place.topic == SCHEMAS for place in facts.report.view.partitions)
    policy = facts.topic_settings.get(SCHEMAS, {}).get(CLEANUP, "compact")
    if partitions > 1:
        yield CheckFinding(
            "registry-topic-partitions",
            Severity.SERIOUS,
            f"topic '{SCHEMAS}'",
            f"it has {partitions} partitions",
            "the schema registry keeps its order in one partition, and answers no call until then.",
            f"copy its records to a topic of one partition, delete {SCHEMAS}, and create it anew",
        )
    if policy != "compact":
        yield CheckFinding(
            "registry-topic-expires",
            Severity.SERIOUS,
            f"topic '{SCHEMAS}'",
            f"{CLEANUP} is {policy}",
            "schemas would be deleted by age or size, so the schema registry answers no call.",
            f"tidelog config set topic {SCHEMAS} {CLEANUP}=compact",
        )

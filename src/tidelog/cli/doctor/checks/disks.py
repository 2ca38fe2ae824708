"""Disks that are nearly full, and log dirs that failed."""

from collections.abc import Iterator

from tidelog.base.units import size_text
from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

LOW_SHARE, VERY_LOW_SHARE = 0.15, 0.05


def check_disks(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for broker, stored in sorted(facts.stored.items()):
        where = f"broker {broker}"
        if stored.failed_log_dirs:
            yield CheckFinding(
                "log-dir-failed",
                Severity.SERIOUS,
                where,
                f"{stored.failed_log_dirs} of {stored.log_dirs} log dirs failed",
                "the replicas in them are offline; other brokers serve their partitions where they can.",
                "see the broker's log and the disk; replace the disk, then restart the broker",
            )
        if stored.free_bytes is not None and stored.total_bytes:
            yield from check_space(where, stored.free_bytes, stored.total_bytes)


def check_space(where: str, free: int, total: int) -> Iterator[CheckFinding]:
    share = free / total
    if share < LOW_SHARE:
        yield CheckFinding(
            "disk-nearly-full",
            Severity.SERIOUS if share < VERY_LOW_SHARE else Severity.MEDIUM,
            where,
            f"{size_text(free)} of {size_text(total)} are free, {share:.0%}",
            "a full disk refuses records, and a broker whose metadata cannot be written loses its vote.",
            "lower retention.ms or retention.bytes of the largest topics, add space, or move replicas: "
            "tidelog cluster rebalance",
        )

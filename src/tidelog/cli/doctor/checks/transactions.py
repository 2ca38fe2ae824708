"""Transactions that hang, so that readers of committed records wait for ever."""

from collections.abc import Iterator

from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity


def check_transactions(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for suspect in facts.hanging:
        place = suspect.state.place
        yield CheckFinding(
            "transaction-hangs",
            Severity.SERIOUS,
            f"{place.topic}:{place.partition}",
            f"a transaction of producer {suspect.state.producer_id} hangs: {suspect.why.value}",
            "readers of committed records get nothing beyond it, and the log is not compacted beyond it.",
            "tidelog txn find-hanging, which names the command that ends it",
        )

"""The metadata quorum: without a leader, without a voter to spare, or with voters that lag."""

from collections.abc import Iterator

from tidelog.cli.cluster.view import numbers_text
from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

LAG_MAX = 1_000
"""Entries; a voter that is up is a few behind at most."""


def check_quorum(facts: DoctorFacts) -> Iterator[CheckFinding]:
    quorum, view = facts.report.quorum, facts.report.view
    if quorum is None:
        yield CheckFinding(
            "no-quorum",
            Severity.SERIOUS,
            "the quorum",
            "it has no leader",
            "topics, leaders and settings cannot change, and a dead leader is not replaced.",
            "start the brokers that are down: more than half of the voters must be up",
        )
        return
    voters = [member.id for member in quorum.voters]
    alive = {broker.id for broker in view.alive}
    away = [id for id in voters if id not in alive]
    needed = len(voters) // 2 + 1
    if away and len(voters) - len(away) <= needed:
        yield CheckFinding(
            "no-voter-to-spare",
            Severity.SERIOUS,
            "the quorum",
            f"voter {numbers_text(away)} is away, and all {needed} others are needed for a majority",
            "one more loss and the cluster cannot be changed.",
            f"start broker {away[0]}, or let another vote: tidelog cluster add-voter",
        )
    if view.computers >= 3 and len(voters) < 3:
        yield CheckFinding(
            "few-voters",
            Severity.MEDIUM,
            "the quorum",
            f"{len(voters)} of {len(view.brokers)} brokers {'vote' if len(voters) > 1 else 'votes'}",
            "the loss of one voter stops all changes of the cluster.",
            "tidelog cluster add-voter, up to three or five voters",
        )
    elif len(voters) > 1 and len(voters) % 2 == 0:
        yield CheckFinding(
            "even-voters",
            Severity.LOW,
            "the quorum",
            f"{len(voters)} brokers vote",
            f"they survive no more losses than {len(voters) - 1} would.",
            "tidelog cluster add-voter or remove-voter, to an odd number",
        )
    for member in quorum.voters:
        lag = quorum.lag(member)
        if member.id in alive and lag is not None and lag > LAG_MAX:
            yield CheckFinding(
                "voter-lags",
                Severity.MEDIUM,
                f"broker {member.id}",
                f"its metadata is {lag:,} entries behind",
                "its vote does not help to commit changes until it has caught up.",
                "see the disk of its first log dir and its network; tidelog cluster quorum --watch",
            )

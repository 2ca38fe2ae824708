"""Queues that are stuck: dead letters that cannot be written, or records that no member takes."""

from collections.abc import Iterator

from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.queue.standing import total


def check_queues(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for queue in facts.queues:
        held_up = [part for part in queue.partitions if part.problem is not None]
        if held_up:
            waiting = total(held_up, lambda part: part.dying) or 0
            yield CheckFinding(
                "dead-letters-held-up",
                Severity.MEDIUM,
                f"queue '{queue.name}'",
                f"{waiting:,} of its dead letters cannot be written: {held_up[0].problem}",
                "they wait where they are, and hold the queue's window open.",
                f"tidelog queue describe {queue.name}; make its dead-letter topic writable",
            )
        depth = total(queue.partitions, lambda part: part.depth)
        if not queue.members and depth:
            yield CheckFinding(
                "queue-without-members",
                Severity.LOW,
                f"queue '{queue.name}'",
                f"it has no members, and {depth:,} records wait for it",
                "its workers are down, or it is no longer used.",
                f"start its workers, or remove it: tidelog group delete {queue.name}",
            )

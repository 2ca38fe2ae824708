"""What a dead-letter topic holds, and whether all of it may be deleted.

A deletion moves the start of the log, so it takes every record before its end, whatever that is: each is
looked at.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.queue.dead_letters.claims import read_step
from tidelog.cli.queue.dead_letters.letter import read_letter
from tidelog.cli.queue.dead_letters.offset_set import OffsetSet
from tidelog.cli.queue.dead_letters.redriver import Redriver
from tidelog.clients.records import TopicPartition


@dataclass(slots=True)
class Contents:
    letters: Counter[str] = field(default_factory=Counter)
    """By group: those that were not put back."""
    begun: int = 0
    """Of these, letters in a claim of a redrive that still runs, or was interrupted."""
    others: Counter[TopicPartition] = field(default_factory=Counter)
    """Records that are neither dead letters nor steps of a redrive."""

    @property
    def total(self) -> int:
        return self.letters.total()


class Allowed(NamedTuple):
    """What the user wants to be deleted beside the letters of the group."""

    other_groups: bool = False
    begun: bool = False


def look_through(redriver: Redriver, found: Contents) -> int:
    """Counts what a partition holds. Returns the offset up to which it has seen every record."""
    place, ledger = TopicPartition(*redriver.log.place), redriver.ledger
    claimed = OffsetSet()
    for claim in ledger.open_claims:
        for letters in claim.letters:
            claimed.add(*letters)
    start, end = redriver.log.bounds(read_committed=True)
    end = min(end, redriver.position)  # behind it there may be claims that the ledger does not know
    for record in redriver.log.records(start, end, read_committed=True):
        if (letter := read_letter(place, record)) is not None:
            is_begun = record.offset in claimed
            if is_begun or not ledger.is_taken(record.offset):
                found.letters[letter.group] += 1
                found.begun += is_begun
        elif read_step(record) is None:
            found.others[place] += 1
    return end


def check_purge(found: Contents, topic: str, group: str, allowed: Allowed) -> None:
    """CliError where a deletion of everything takes more than the user wants."""
    if found.others:
        count = found.others.total()
        records = f"{count:,} record{'s' if count != 1 else ''}"
        raise CliError(
            f"{topic} has {records} that {'are no dead letters' if count != 1 else 'is no dead letter'}, "
            f"in {', '.join(map(str, sorted(found.others)))}.",
            cause="the name is of another topic, or the topic is not for dead letters of share groups alone.",
            attempt=f"tidelog consume {topic} to see them, or tidelog queue describe {group} for its topic",
            code=Exit.REFUSED,
        )
    others = {other: count for other, count in found.letters.items() if other != group}
    if others and not allowed.other_groups:
        listed = ", ".join(f"{count:,} of {other}" for other, count in sorted(others.items()))
        raise CliError(
            f"{topic} has dead letters of other groups: {listed}.",
            cause="the groups share the topic, and only all of its records can be deleted.",
            attempt="the same with --of-all-groups; or put them back with tidelog queue redrive",
            code=Exit.REFUSED,
        )
    if found.begun and not allowed.begun:
        raise CliError(
            f"A redrive has begun to put back {found.begun:,} dead letters of {topic}, and is not done.",
            cause="it still runs, or was interrupted: what it has not sent yet would be lost.",
            attempt=f"tidelog queue redrive {group} --execute, which completes it; or the same with --begun",
            code=Exit.REFUSED,
        )

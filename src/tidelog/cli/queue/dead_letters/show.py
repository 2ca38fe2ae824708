"""`tidelog queue dead-letters`: the records that a group gave up on, and why."""

from collections.abc import Sequence
from itertools import islice

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.retrying import open_cluster
from tidelog.cli.moments import time_text
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.dead_letters.filters import LetterFilter
from tidelog.cli.queue.dead_letters.letter import Letter
from tidelog.cli.queue.dead_letters.options import letter_filter, letter_options
from tidelog.cli.queue.settings import dead_letter_topic as topic_of
from tidelog.cli.records.format import visible
from tidelog.cli.session import Session, broker_options, pass_session

MAX = 50
VALUE_MAX = 80
"""Characters of a value that the table shows; --json shows all."""


@click.command("dead-letters", short_help="Show dead letters with their reasons.")
@letter_options
@click.option(
    "-n",
    "--max",
    "count",
    type=click.IntRange(min=1),
    default=MAX,
    metavar="N",
    help=f"How many at most, from the oldest on. [default: {MAX}]",
)
@broker_options
@pass_session
def dead_letters(
    session: Session,
    group: str,
    dead_letter_topic: str | None,
    choices: tuple[TopicChoice, ...],
    reason: str | None,
    older_than: int | None,
    newer_than: int | None,
    key: str | None,
    count: int,
) -> None:
    """Show the records that a group gave up on, where they were, and why.

    Those that `tidelog queue redrive` has put back, or has begun to, are not shown any more.

    \b
    tidelog queue dead-letters workers
    tidelog queue dead-letters workers --reason rejected --newer-than 1h
    tidelog queue dead-letters workers --topic jobs:0 --key order-7 --json
    """
    wanted = letter_filter(group, choices, reason, older_than, newer_than, key)
    direct = DirectCluster(session)
    name = dead_letter_topic or topic_of(direct, group)
    may_be_absent = dead_letter_topic is None
    found, begun, exists = _look(session, direct, name, wanted, count, may_be_absent=may_be_absent)
    has_more = len(found) > count
    found = found[:count]
    if begun:
        note(begun_letters(begun))
    if session.json:
        print_json([letter.as_json() for letter in found])
        return
    if not found:
        print(no_letters(name, exists=exists))
        return
    show_letters(found)
    if has_more:
        note(f"There are more; --max {10 * count} shows more of them.")


def _look(
    session: Session,
    direct: DirectCluster,
    name: str,
    wanted: LetterFilter,
    count: int,
    *,
    may_be_absent: bool,
) -> tuple[list[Letter], int, bool]:
    """The oldest of all partitions together, one more than `count` where there are more; how many a redrive
    has begun with; and whether the topic exists."""
    from tidelog.cli.queue.dead_letters.shelf import Shelf

    found: list[Letter] = []
    begun = 0
    with open_cluster(session, f"The dead letters in {name} cannot be read") as cluster:
        shelf = Shelf(cluster, direct, name, may_be_absent=may_be_absent)
        for redriver in shelf.redrivers():
            fitting = (letter for letter in redriver.letters() if wanted.takes(letter))
            found += islice(fitting, count + 1)
            begun += sum(claim.count for claim in redriver.ledger.open_claims)
    found.sort(key=lambda letter: (letter.timestamp, letter.place, letter.offset))
    return found[: count + 1], begun, shelf.topic is not None


def no_letters(name: str, *, exists: bool) -> str:
    if exists:
        return f"No such dead letters in {name}."
    return f"The topic {name} does not exist yet. `tidelog queue describe` shows whether dead letters wait."


def begun_letters(count: int) -> str:
    """They are not shown among the dead letters: the topic that they go to may have them."""
    return (
        f"A redrive has begun with {letters_text(count)}, and is not done; the next one with --execute "
        "completes it."
    )


def letters_text(count: int) -> str:
    return f"{count:,} dead letter{'s' if count != 1 else ''}"


def show_letters(letters: Sequence[Letter]) -> None:
    print_table(
        ("Dead letter", "Since", "Record", ">Deliveries", ">Redriven", "Key", "Value", "Reason"),
        [
            (
                f"{letter.place.topic}[{letter.place.partition}]@{letter.offset}",
                time_text(letter.timestamp),
                letter.source,
                letter.delivery_count,
                letter.redriven_count,
                _shown(letter.key),
                _shown(letter.value) if letter.has_record else "(no copy)",
                letter.message,
            )
            for letter in letters
        ],
    )


def _shown(data: bytes | None) -> str | None:
    if data is None:
        return None
    text = visible(data[: 4 * VALUE_MAX])
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"

"""`tidelog queue redrive`: dead letters go back to where they were; --execute, or only a plan of it."""

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.retrying import open_cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import note, print_json, print_table
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.dead_letters.options import letter_filter, letter_options
from tidelog.cli.queue.dead_letters.show import begun_letters, letters_text, no_letters
from tidelog.cli.queue.dead_letters.tally import Tally
from tidelog.cli.queue.settings import dead_letter_topic as topic_of
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.clients.permissions import acl_command, principal_of


@click.command(short_help="Put dead letters back.")
@letter_options
@click.option(
    "--to",
    metavar="TOPIC",
    shell_complete=complete_topic,
    help="Another topic to put them into. [default: the topic of each record, same partition]",
)
@click.option("-n", "--max", "count", type=click.IntRange(min=1), metavar="N", help="How many at most.")
@click.option(
    "--resend-unsure",
    is_flag=True,
    help="Also those that a redrive was interrupted with more than 12 hours ago: their topic may have them.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be put back. That is the default.")
@click.option("--execute", is_flag=True, help="Do it.")
@broker_options
@pass_session
def redrive(
    session: Session,
    group: str,
    dead_letter_topic: str | None,
    choices: tuple[TopicChoice, ...],
    reason: str | None,
    older_than: int | None,
    newer_than: int | None,
    key: str | None,
    to: str | None,
    count: int | None,
    resend_unsure: bool,
    dry_run: bool,
    execute: bool,
) -> None:
    """Put dead letters back to the topics they come from, all or those that fit the options.

    Shows what would be put back; --execute does it. The record goes to the partition it comes from, with its
    key, value and headers, and a header tidelog-redriven that counts how often; with --to, to the same
    partition of another topic, modulo its partitions.

    Interrupt it at any time, and run two at once: no dead letter is lost, and none is put back twice. A
    redrive first writes a claim into the dead-letter topic (which letters, where to, under which producer
    id), then the copies under that producer id, then that the claim is done. The next redrive completes
    claims that are not done, and the target topic recognises copies that it has. Of two claims to a letter
    the first in the log counts. Dead letters that do not fit the options stay, for a later redrive.

    It needs Read and Write on the dead-letter topic, and Write on the topics of the records.

    \b
    tidelog queue redrive workers                                     # what would be put back
    tidelog queue redrive workers --execute                           # all of the group's dead letters
    tidelog queue redrive workers --reason too-often --newer-than 1h --execute
    tidelog queue redrive workers --topic jobs:0 --to jobs-again --execute
    """
    from tidelog.cli.queue.dead_letters.shelf import Shelf
    from tidelog.cli.queue.dead_letters.work import Work

    if dry_run and execute:
        raise click.UsageError("--dry-run and --execute contradict each other.")
    wanted = letter_filter(group, choices, reason, older_than, newer_than, key)
    direct = DirectCluster(session)
    name = dead_letter_topic or topic_of(direct, group)
    tally = Tally()
    with open_cluster(session, f"The dead letters in {name} cannot be put back") as cluster:
        shelf = Shelf(cluster, direct, name, may_be_absent=dead_letter_topic is None)
        work = Work(
            shelf.targets(to), wanted, tally, count=count, shows_progress=execute and not session.json
        )
        for redriver in shelf.redrivers():
            if execute:
                work.execute(redriver, resend=resend_unsure)
            else:
                work.plan(redriver)
    if session.json:
        print_json({"group": group, "dead_letter_topic": name, "executed": execute, **tally.as_json()})
    else:
        _show(tally, name, exists=shelf.topic is not None, executed=execute)
    if tally.failures:
        raise _failed(session, tally, name)


def _failed(session: Session, tally: Tally, name: str) -> CliError:
    what = f"Some dead letters of {name} could not be put back: {tally.failures[0]}"
    if tally.denied is None:
        return CliError(
            what,
            cause="the topic refuses them, or its leader is away. What was begun is not lost.",
            attempt="the same command again, once the topic takes them",
        )
    principal = principal_of(session.properties)
    return CliError(
        what,
        cause=f"it takes Read and Write on {name}, and Write on {tally.denied.topic}: {principal} has not "
        "all of them. What was begun is not lost.",
        attempt="as an administrator: "
        + acl_command(principal, ("Read", "Write"), "topic", name)
        + "; "
        + acl_command(principal, ("Write",), "topic", tally.denied.topic),
        code=Exit.DENIED,
    )


def _show(tally: Tally, name: str, *, exists: bool, executed: bool) -> None:
    if tally.total:
        print_table(
            ("From", "To", ">Partition", ">Letters"),
            [(row["source_topic"], row["topic"], row["partition"], row["letters"]) for row in tally.rows()],
        )
    elif not tally.completed and not tally.begun:
        print(no_letters(name, exists=exists))
    for why, letters in tally.staying.items():
        note(f"{letters_text(letters)} cannot be put back: {why}.")
    if tally.unsure:
        note(
            f"A redrive was interrupted with {letters_text(tally.unsure)} more than 11 hours ago: whether "
            "they were put back is not known any more. After 12 hours --resend-unsure puts them back."
        )
    if executed:
        note(
            f"Put back {letters_text(tally.put_back)}"
            + (
                f", of them {tally.completed:,} that an earlier redrive had begun."
                if tally.completed
                else "."
            )
        )
        return
    if tally.begun:
        note(begun_letters(tally.begun))
    if tally.total or tally.begun:
        note("Nothing is put back yet; add --execute to do it.")

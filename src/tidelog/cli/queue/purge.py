"""`tidelog queue purge`: drops what waits in a queue, or its dead letters."""

import sys

import click

from tidelog.blocking.partition_log import PartitionLog
from tidelog.cli.connection import Cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.retrying import open_cluster
from tidelog.cli.exits import CliError
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.plan import changes, plan_target
from tidelog.cli.group.target import Goal, Target
from tidelog.cli.output import print_json
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.calls import in_use
from tidelog.cli.queue.dead_letters.contents import Allowed, Contents, check_purge, look_through
from tidelog.cli.queue.dead_letters.show import letters_text
from tidelog.cli.queue.looking import find_queue
from tidelog.cli.queue.moving import chosen_places, move_group, standings
from tidelog.cli.queue.settings import dead_letter_topic as topic_of
from tidelog.cli.queue.standing import add
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.choice_option import topic_choice_option
from tidelog.cli.topic.names import complete_topic


@click.command(short_help="Drop a queue's backlog, or its dead letters.")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@topic_choice_option(
    "Only the backlog in this topic, or in some of its partitions. Repeatable. "
    "[default: every partition that the group reads]"
)
@click.option("--dead-letters", is_flag=True, help="The group's dead letters instead of its backlog.")
@click.option(
    "--dead-letter-topic",
    metavar="TOPIC",
    shell_complete=complete_topic,
    help="With --dead-letters: where they are. [default: as the group's setting says]",
)
@click.option(
    "--of-all-groups",
    is_flag=True,
    help="With --dead-letters: also those of other groups in the same topic.",
)
@click.option(
    "--begun",
    is_flag=True,
    help="With --dead-letters: also those that a redrive has begun to put back, and has not completed.",
)
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@broker_options
@pass_session
def purge(
    session: Session,
    name: str,
    choices: tuple[TopicChoice, ...],
    dead_letters: bool,
    dead_letter_topic: str | None,
    of_all_groups: bool,
    begun: bool,
    yes: bool,
) -> None:
    """Drop all records that wait in a queue; with --dead-letters, its dead letters.

    The backlog: the group moves to the end of its partitions, so it must have no active members. The records
    stay in the topic, for other groups and for `tidelog queue reset`.

    Dead letters are deleted from their topic for good. A topic that has dead letters of other groups as well
    is refused without --of-all-groups, and one with letters that a redrive has begun to put back without
    --begun. A topic that has any other records is always refused.

    \b
    tidelog queue purge workers
    tidelog queue purge workers --dead-letters --yes
    """
    if dead_letters and choices:
        raise click.UsageError("--topic is about the backlog: it does not go with --dead-letters.")
    if not dead_letters and (of_all_groups or begun or dead_letter_topic):
        raise click.UsageError("--dead-letter-topic, --of-all-groups and --begun go with --dead-letters.")
    direct = DirectCluster(session)
    if dead_letters:
        topic = dead_letter_topic or topic_of(direct, name)
        allowed = Allowed(other_groups=of_all_groups, begun=begun)
        _purge_dead_letters(session, direct, name, topic, allowed, yes=yes)
    else:
        _purge_backlog(session, direct, name, choices, yes=yes)


def _purge_backlog(
    session: Session, direct: DirectCluster, name: str, choices: tuple[TopicChoice, ...], *, yes: bool
) -> None:
    queue = find_queue(direct, name)
    if queue.members:
        raise in_use(name, len(queue.members))
    cluster, target = Cluster(session), Target(Goal.LATEST)
    places = chosen_places(cluster, queue, choices)
    depth = add(*(part.depth for part in queue.partitions if part.place in places)) or 0
    records = f"{depth:,} record{'s' if depth != 1 else ''}"
    _confirm(f"Drop {records} that wait for group '{name}' at {session.servers}?", yes)
    wanted = changes(plan_target(standings(cluster, queue, places, target), target))
    if wanted:
        move_group(direct, name, wanted)
    if session.json:
        print_json({"group": name, "dropped": depth, "partitions": len(wanted)})
    else:
        print(f"Group '{name}' starts at the end of {_partitions(len(wanted))}: {records} dropped.")


def _purge_dead_letters(
    session: Session, direct: DirectCluster, name: str, topic: str, allowed: Allowed, *, yes: bool
) -> None:
    from tidelog.cli.queue.dead_letters.shelf import Shelf

    with open_cluster(session, f"The dead letters in {topic} cannot be deleted") as cluster:
        shelf = Shelf(cluster, direct, topic, may_be_absent=False)
        ends: dict[PartitionLog, int] = {}
        found = Contents()
        for redriver in shelf.redrivers():
            ends[redriver.log] = look_through(redriver, found)
        check_purge(found, topic, name, allowed)
        _confirm(f"Delete {letters_text(found.total)} from {topic} at {session.servers} for good?", yes)
        for log, end in ends.items():
            log.delete_before(end)
    if session.json:
        print_json({"group": name, "dead_letter_topic": topic, "deleted": found.letters})
    else:
        print(f"Deleted {letters_text(found.total)} from {topic}.")


def _confirm(question: str, yes: bool) -> None:
    """Asks a person at a terminal; a script has made up its mind."""
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise CliError("Nothing was dropped.")


def _partitions(count: int) -> str:
    return f"{count} partition{'s' if count != 1 else ''}"

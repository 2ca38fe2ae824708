"""`tidelog group delete` and `delete-offsets`: what was committed goes, and the broker has the last word."""

import sys

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import committed_offsets, group_error, group_infos
from tidelog.cli.group.calls import ask_groups
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.offset_delete import delete_committed
from tidelog.cli.group.share import refuse_share_groups
from tidelog.cli.outcomes import report
from tidelog.cli.output import print_json
from tidelog.cli.partition_choice import TopicChoice, expand, places_text
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.choice_option import topic_choice_option

yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)


def confirm(question: str, yes: bool) -> None:
    """Ask a person at a terminal; a script has made up its mind."""
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise CliError("Nothing was deleted.")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="GROUP…", shell_complete=complete_group)
@yes_option
@click.option("--if-exists", is_flag=True, help="Ignore a group that does not exist.")
@broker_options
@pass_session
def delete(session: Session, names: tuple[str, ...], yes: bool, if_exists: bool) -> None:
    """Delete groups with their committed offsets; share groups with what is stored of their records.

    A group with active members is refused.
    """
    cluster = Cluster(session)
    cluster.reach()
    confirm(f"Delete {', '.join(names)} at {session.servers} with all committed offsets?", yes)
    answers = ask_groups(cluster, cluster.admin.delete_consumer_groups, names)
    fine = {Exit.NOT_FOUND: "absent"} if if_exists else {}
    report(session, "Group", answers, "deleted", group_error, fine)


@click.command("delete-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_group)
@topic_choice_option(
    "Delete the offsets of this topic, or of some of its partitions (orders:0,2). Repeatable.", required=True
)
@yes_option
@broker_options
@pass_session
def delete_offsets(session: Session, name: str, choices: tuple[TopicChoice, ...], yes: bool) -> None:
    """Delete a group's committed offsets in some topics.

    Its consumers will start there as auto.offset.reset says. A topic that active members are subscribed
    to is refused.
    """
    cluster = Cluster(session)
    [info] = group_infos(cluster, [name])
    refuse_share_groups([info], "tidelog queue reset {name}")
    committed: dict[str, list[int]] = {}
    for place in committed_offsets(cluster, [name])[name]:
        committed.setdefault(place.topic, []).append(place.partition)
    places = expand(
        choices, committed, f"holds no offset of group '{name}'.", f"tidelog group describe {name}"
    )
    confirm(f"Delete the offsets that group '{name}' has committed in {places_text(places)}?", yes)
    delete_committed(session, info, places)
    if session.json:
        deleted = [{"topic": place.topic, "partition": place.partition} for place in places]
        print_json({"group": name, "deleted": deleted})
    else:
        print(f"Group '{name}' has no committed offsets in {places_text(places)} any more.")

"""`tidelog group`: list, describe, members and lag; the commands that change a group have their own files."""

import click

from tidelog.cli.connection import Cluster
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.group.admin import STATES, Listed, find_groups, group_infos, list_groups, standings
from tidelog.cli.group.delete import delete, delete_offsets
from tidelog.cli.group.lag import By, GroupStanding, Row, lag_rows
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.reset import reset_offsets
from tidelog.cli.group.share import TYPE as SHARE
from tidelog.cli.group.share import refuse_share_groups
from tidelog.cli.group.tables import group_json, member_rows, show_group, show_lag, show_members
from tidelog.cli.output import print_table
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.watch import show, watch_options


@click.group(cls=FullHelpGroup)
def group() -> None:
    """See, move and delete consumer groups.

    Share groups are queues: `tidelog queue` shows their records and moves them.
    """


names_argument = click.argument(
    "names", nargs=-1, required=True, metavar="GROUP…", shell_complete=complete_group
)
STATE_CHOICES = [*STATES.values(), "Assigning", "Reconciling", "NotReady"]


@group.command("list")
@click.option(
    "-s",
    "--state",
    "states",
    type=click.Choice(STATE_CHOICES, case_sensitive=False),
    multiple=True,
    help="Only groups in this state. Repeatable.",
)
@click.option(
    "-t",
    "--type",
    "types",
    type=click.Choice(["Classic", "Consumer", "Streams", "Share"], case_sensitive=False),
    multiple=True,
    help="Only groups of this protocol: the classic one, the new one (KIP-848), that of Kafka Streams "
    "(KIP-1071), or that of share groups (KIP-932). Repeatable.",
)
@watch_options
@broker_options
@pass_session
def list_command(
    session: Session, states: tuple[str, ...], types: tuple[str, ...], watch: bool, interval: float
) -> None:
    """List groups of every kind. Of share groups, `tidelog queue list` shows more."""
    cluster = Cluster(session)

    def look() -> list[Listed]:
        return [
            found
            for found in list_groups(cluster)
            if (not states or found.state in states) and (not types or found.type in types)
        ]

    def as_json(groups: list[Listed]) -> object:
        return [
            {"group": found.name, "state": found.state, "type": found.type, "simple": found.is_simple}
            for found in groups
        ]

    def draw(groups: list[Listed]) -> None:
        if groups:
            print_table(
                ("Group", "State", "Type"), [(found.name, found.state, found.type) for found in groups]
            )
        else:
            print(
                f"No such groups at {session.servers}."
                if states or types
                else f"No groups at {session.servers}."
            )

    show(session, look, as_json, draw, watch=watch, interval_s=interval)


@group.command()
@names_argument
@watch_options
@broker_options
@pass_session
def describe(session: Session, names: tuple[str, ...], watch: bool, interval: float) -> None:
    """Show state, members, offsets and lag of groups."""
    cluster = Cluster(session)

    def draw(groups: list[GroupStanding]) -> None:
        for number, found in enumerate(groups):
            if number:
                print()
            show_group(found)

    show(
        session,
        lambda: standings(cluster, group_infos(cluster, names)),
        lambda groups: [group_json(found) for found in groups],
        draw,
        watch=watch,
        interval_s=interval,
    )


@group.command(short_help="Show who is in groups, and what each owns.")
@names_argument
@watch_options
@broker_options
@pass_session
def members(session: Session, names: tuple[str, ...], watch: bool, interval: float) -> None:
    """Show the members of groups with their hosts and partitions."""
    cluster = Cluster(session)

    def draw(groups: list[GroupStanding]) -> None:
        if any(found.info.members for found in groups):
            show_members(groups)
        else:
            print("No active members.")

    show(
        session,
        lambda: standings(cluster, group_infos(cluster, names)),
        lambda groups: [row for found in groups for row in member_rows(found)],
        draw,
        watch=watch,
        interval_s=interval,
    )


@group.command(short_help="Show how many records groups are behind.")
@click.argument("names", nargs=-1, metavar="[GROUP…]", shell_complete=complete_group)
@click.option(
    "--by",
    type=click.Choice([by.value for by in By], case_sensitive=False),
    help="What a row stands for. [default: partition; group when no group is named]",
)
@watch_options
@broker_options
@pass_session
def lag(session: Session, names: tuple[str, ...], by: str | None, watch: bool, interval: float) -> None:
    """Show how many records groups lag behind; of all groups unless some are named.

    Unknown counts partitions without a committed offset: their lag depends on the consumer's
    auto.offset.reset. Share groups have no such lag; `tidelog queue stats` shows their depth.

    \b
    tidelog group lag                            # a line for each group
    tidelog group lag billing --watch            # each partition, refreshed
    tidelog group lag billing --by member        # which member is slow; or --by host
    """
    kind = By(by) if by else By.PARTITION if names else By.GROUP
    cluster = Cluster(session)

    def look() -> list[Row]:
        if names:
            infos = group_infos(cluster, names)
            refuse_share_groups(infos, "tidelog queue stats {name}")
        else:
            listed = [found.name for found in list_groups(cluster) if found.type != SHARE]
            infos = list(find_groups(cluster, listed).values())
        return [row for found in standings(cluster, infos) for row in lag_rows(found, kind)]

    def draw(rows: list[Row]) -> None:
        if rows:
            show_lag(rows, kind)
        else:
            print("The group has no committed offsets and no members.")

    show(session, look, list, draw, watch=watch, interval_s=interval)


for command in (reset_offsets, delete, delete_offsets):
    group.add_command(command)

"""`tidelog cluster elect-leaders`: give partitions back to their preferred leaders, or rescue lost ones."""

import sys
from collections.abc import Sequence

import click

from tidelog.cli.cluster.elect_leaders import Elected, Election, elect_leaders
from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError
from tidelog.cli.output import print_json
from tidelog.cli.partition_choice import TopicChoice, TopicChoiceType, expand, places_text
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.clients.records import TopicPartition


@click.command("elect-leaders")
@click.argument(
    "choices",
    nargs=-1,
    type=TopicChoiceType(),
    metavar="[TOPIC[:PARTITION,…]]…",
    shell_complete=complete_topic,
)
@click.option(
    "--unclean",
    is_flag=True,
    help="Where no in-sync replica is left, elect any replica; records that it lacks are lost.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Show which partitions would change, and change nothing.")
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@broker_options
@pass_session
def elect_leaders_command(
    session: Session, choices: tuple[TopicChoice, ...], unclean: bool, dry_run: bool, yes: bool
) -> None:
    """Elect the preferred leaders again.

    The first replica of a partition is its preferred leader. While a broker is down, other brokers lead its
    partitions. The cluster gives them back after a while (auto.leader.rebalance.enable); this does it now.

    \b
    tidelog cluster elect-leaders                     # in all topics
    tidelog cluster elect-leaders orders clicks:0-3
    tidelog cluster elect-leaders --unclean orders:2  # last resort: may lose records
    """
    if unclean and not choices:
        raise click.UsageError(
            "--unclean may lose records, so name the partitions: orders:2, or orders for all."
        )
    direct = DirectCluster(session)
    view = look_at_cluster(direct, None if not choices else dict.fromkeys(choice.topic for choice in choices))
    places = _wanted(choices, view, unclean)
    if dry_run or not places:
        _tell(session, Elected(places, [], {}), dry_run=True)
        return
    if unclean and not yes and sys.stdin.isatty():
        question = f"Elect an out-of-sync leader for {places_text(places)}? Records may be lost."
        if not click.confirm(question, err=True):
            raise CliError("Nothing was changed.")
    elected = elect_leaders(direct, Election.UNCLEAN if unclean else Election.PREFERRED, places)
    _tell(session, elected)
    if elected.refused:
        raise next(iter(elected.refused.values()))


def _wanted(choices: Sequence[TopicChoice], view: ClusterView, unclean: bool) -> list[TopicPartition]:
    existing = {topic: [part.place.partition for part in parts] for topic, parts in view.topics.items()}
    chosen = (
        expand(choices, existing, "does not exist.", "tidelog topic list")
        if choices
        else list(view.partitions)
    )
    found = [view.partitions[place] for place in chosen]
    if unclean:
        return [part.place for part in found if part.leader is None]
    return [part.place for part in found if part.leader != part.preferred]


def _tell(session: Session, elected: Elected, dry_run: bool = False) -> None:
    if session.json:
        print_json(
            {
                "elected" if not dry_run else "would_elect": _json(elected.changed),
                "not_needed": _json(elected.not_needed),
                "refused": {str(place): error.message for place, error in elected.refused.items()},
            }
        )
        return
    if not elected.changed and not elected.refused:
        print("No election is needed.")
    elif elected.changed:
        verb = "Would elect" if dry_run else "Elected"
        print(f"{verb} a new leader for {places_text(elected.changed)}.")


def _json(places: Sequence[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": place.topic, "partition": place.partition} for place in places]

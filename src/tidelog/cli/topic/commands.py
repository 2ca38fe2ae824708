"""`tidelog topic`: create, list, describe, alter, delete, add-partitions; others have their own files.

Several names in one call are independent: each is tried, each is reported, the first failure gives the
exit code.
"""

import sys
from typing import Any

import click

from tidelog.base.units import size_text
from tidelog.cli.connection import Cluster, translated
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.outcomes import report
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.reassign.commands import reassign
from tidelog.cli.session import Session, broker_options, parse_pair, pass_session
from tidelog.cli.topic.admin import TopicState, describe, list_names, topic_error
from tidelog.cli.topic.names import complete_topic
from tidelog.cli.transactions.topic_producers import producers


@click.group(cls=FullHelpGroup)
def topic() -> None:
    """Create, inspect, change and delete topics."""


names_argument = click.argument(
    "names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete_topic
)


def config_pairs(values: tuple[str, ...]) -> dict[str, str]:
    from tidelog.cli.config.table import human_values

    return human_values("topic", dict(map(parse_pair, values)))


@topic.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option(
    "-p",
    "--partitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many partitions. [default: the broker's num.partitions]",
)
@click.option(
    "-r",
    "--replication-factor",
    type=click.IntRange(min=1),
    metavar="N",
    help="Copies of each partition. [default: the broker's default.replication.factor]",
)
@click.option(
    "-c", "--config", "configs", multiple=True, metavar="NAME=VALUE", help="A topic setting. Repeatable."
)
@click.option("--if-not-exists", is_flag=True, help="Ignore a topic that exists already.")
@click.option("--validate-only", is_flag=True, help="Check with the broker, create nothing.")
@broker_options
@pass_session
def create(
    session: Session,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    validate_only: bool,
) -> None:
    """Create topics."""
    from confluent_kafka.admin import NewTopic

    cluster = Cluster(session)
    wanted = [
        NewTopic(
            name,
            num_partitions=partitions or -1,
            replication_factor=replication_factor or -1,
            config=config_pairs(configs),
        )
        for name in dict.fromkeys(names)
    ]
    answers = cluster.ask(cluster.admin.create_topics, wanted, validate_only=validate_only)
    done = "valid" if validate_only else "created"
    fine = {Exit.EXISTS: "exists"} if if_not_exists else {}
    report(session, "Topic", answers, done, topic_error, fine)


@topic.command("list")
@click.option("-i", "--internal", is_flag=True, help="Show internal topics (names that start with __) too.")
@broker_options
@pass_session
def list_topics(session: Session, internal: bool) -> None:
    """List topics."""
    topics = [
        {
            "name": listed.topic,
            "partitions": len(listed.partitions),
            "replicas": max((len(part.replicas) for part in listed.partitions.values()), default=0),
        }
        for listed in list_names(Cluster(session))
        if internal or not listed.topic.startswith("__")
    ]
    if session.json:
        print_json(topics)
    elif topics:
        print_table(("Topic", ">Partitions", ">Replicas"), [tuple(row.values()) for row in topics])
    else:
        say(f"No topics at {session.servers}. Create one with: [bold]tidelog topic create hello[/]")


@topic.command("describe", short_help="Show partitions, offsets and changed settings.")
@names_argument
@broker_options
@pass_session
def describe_topics(session: Session, names: tuple[str, ...]) -> None:
    """Show partitions, leaders, offsets and settings that differ from the default."""
    topics = describe(Cluster(session), list(dict.fromkeys(names)))
    if session.json:
        print_json([found.as_json() for found in topics])
        return
    for number, found in enumerate(topics):
        if number:
            print()
        _show(found)


def _show(found: TopicState) -> None:
    from rich.markup import escape

    count = len(found.partitions)
    facts = [f"{count} partition{'s' if count != 1 else ''}"]
    if found.topic_id:
        facts.append(f"id {found.topic_id}")
    if found.internal:
        facts.append("internal")
    say(f"[bold]{escape(found.name)}[/]  {', '.join(facts)}")
    print_table(
        (">Partition", ">Leader", "Replicas", "In sync", ">Start", ">End", ">Records", ">Size"),
        [
            (
                part.partition,
                part.leader,
                part.replicas,
                part.in_sync,
                part.start,
                part.end,
                part.records,
                None if part.size is None else size_text(part.size),
            )
            for part in found.partitions
        ],
    )
    if found.config:
        print()
        print_table(("Setting", "Value"), list(found.config.items()))


@topic.command()
@names_argument
@click.option(
    "-c", "--config", "configs", multiple=True, metavar="NAME=VALUE", help="Set a topic setting. Repeatable."
)
@click.option(
    "-u",
    "--unset",
    "unset",
    multiple=True,
    metavar="NAME",
    help="Reset a topic setting to its default. Repeatable.",
)
@broker_options
@pass_session
def alter(session: Session, names: tuple[str, ...], configs: tuple[str, ...], unset: tuple[str, ...]) -> None:
    """Change settings of topics."""
    from tidelog.cli.config.admin import alter_configs

    if not configs and not unset:
        raise click.UsageError("Nothing to change: give --config NAME=VALUE or --unset NAME.")
    answers = alter_configs(Cluster(session), "topic", names, config_pairs(configs), unset)
    report(session, "Topic", answers, "altered", topic_error)


@topic.command()
@names_argument
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@click.option("--if-exists", is_flag=True, help="Ignore a topic that does not exist.")
@broker_options
@pass_session
def delete(session: Session, names: tuple[str, ...], yes: bool, if_exists: bool) -> None:
    """Delete topics and all their records."""
    cluster = Cluster(session)
    cluster.reach()
    if not yes and sys.stdin.isatty():
        shown = ", ".join(names)
        if not click.confirm(f"Delete {shown} at {session.servers} with all records?", err=True):
            raise CliError("Nothing was deleted.")
    answers = cluster.ask(cluster.admin.delete_topics, list(dict.fromkeys(names)))
    fine = {Exit.NOT_FOUND: "absent"} if if_exists else {}
    report(session, "Topic", answers, "deleted", _delete_error, fine)


def _delete_error(error: Any, name: str, session: Session) -> CliError:
    """To create what is to be deleted would be strange advice."""
    cli_error = topic_error(error, name, session)
    if cli_error.code is Exit.NOT_FOUND:
        cli_error.attempt = "tidelog topic list, or: --if-exists"
    return cli_error


@topic.command("add-partitions")
@click.argument("name", shell_complete=complete_topic)
@click.argument("total", type=click.IntRange(min=1))
@broker_options
@pass_session
def add_partitions(session: Session, name: str, total: int) -> None:
    """Grow a topic to TOTAL partitions.

    Records with a key may land in another partition from then on, and a topic never shrinks.
    """
    from confluent_kafka.admin import NewPartitions

    cluster = Cluster(session)
    with translated(session):
        answers = cluster.ask(cluster.admin.create_partitions, [NewPartitions(name, total)])
    report(session, "Topic", answers, f"grown to {total} partitions", topic_error)


for command in (reassign, producers):
    topic.add_command(command)

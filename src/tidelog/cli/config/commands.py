"""`tidelog config`: show what holds and where it comes from, set, unset, and explain a setting.

The commands about groups have their own file.
"""

from typing import Any

import click

from tidelog.cli.config.admin import alter_configs, describe_configs
from tidelog.cli.config.groups import set_group, show_group, unset_group
from tidelog.cli.config.options import all_option, complete_setting, some_names
from tidelog.cli.config.showing import print_settings, say_changed, unknown_setting
from tidelog.cli.config.table import human_values, known_settings
from tidelog.cli.connection import Cluster, as_cli_error, exit_for
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.session import Session, broker_options, json_option, parse_pair, pass_session
from tidelog.cli.topic.admin import topic_error
from tidelog.cli.topic.names import complete_topic


@click.group(cls=FullHelpGroup)
def config() -> None:
    """Show, change and explain settings."""


@config.group()
def show() -> None:
    """Show settings with their values and sources."""


@config.group("set")
def set_() -> None:
    """Change settings while the broker runs."""


@config.group()
def unset() -> None:
    """Reset settings to their defaults."""


broker_id = click.option(
    "--id", "broker", type=int, metavar="N", help="One broker. [default: all brokers of the cluster]"
)
topic_argument = click.argument("topic", shell_complete=complete_topic)


@show.command("topic")
@topic_argument
@some_names("topic")
@all_option
@broker_options
@pass_session
def show_topic(session: Session, topic: str, names: tuple[str, ...], everything: bool) -> None:
    """Show the settings that a topic has of its own; with --all every setting, with SETTING only those."""
    found = describe_configs(Cluster(session), "topic", topic)
    if not isinstance(found, list):
        raise topic_error(found, topic, session)
    print_settings(session, "topic", found, names, everything, f"Topic '{topic}'")


@show.command("broker")
@some_names("broker")
@click.option(
    "--id", "broker", type=int, metavar="N", help="Which broker. [default: the first of the cluster]"
)
@all_option
@broker_options
@pass_session
def show_broker(session: Session, names: tuple[str, ...], broker: int | None, everything: bool) -> None:
    """Show a broker's settings; with --all also defaults, with SETTING only those."""
    cluster = Cluster(session)
    brokers = _broker_ids(cluster)
    wanted = brokers[0] if broker is None else broker
    if wanted not in brokers:
        raise CliError(
            f"There is no broker {wanted}; the cluster has {', '.join(map(str, brokers))}.",
            attempt=f"tidelog config show broker --id {brokers[0]}",
            code=Exit.NOT_FOUND,
        )
    found = describe_configs(cluster, "broker", str(wanted))
    if not isinstance(found, list):
        raise as_cli_error(found, session, f"Broker {wanted}")
    print_settings(session, "broker", found, names, everything, f"Broker {wanted}")


def _broker_ids(cluster: Cluster) -> list[int]:
    return sorted(cluster.list_topics().brokers)


@set_.command("topic")
@topic_argument
@click.argument(
    "values", nargs=-1, required=True, metavar="SETTING=VALUE…", shell_complete=complete_setting("topic")
)
@broker_options
@pass_session
def set_topic(session: Session, topic: str, values: tuple[str, ...]) -> None:
    """Set settings of a topic: retention.ms=7d."""
    wanted = human_values("topic", dict(map(parse_pair, values)))
    answers = alter_configs(Cluster(session), "topic", [topic], wanted, ())
    _check(session, f"Topic '{topic}'", answers, topic)
    say_changed(session, f"Topic '{topic}'", wanted)


@set_.command("broker")
@click.argument(
    "values", nargs=-1, required=True, metavar="SETTING=VALUE…", shell_complete=complete_setting("broker")
)
@broker_id
@broker_options
@pass_session
def set_broker(session: Session, values: tuple[str, ...], broker: int | None) -> None:
    """Set settings of all brokers, or of one with --id."""
    wanted = human_values("broker", dict(map(parse_pair, values)))
    answers = _alter_brokers(Cluster(session), broker, wanted, ())
    _check(session, _owner(broker), answers)
    say_changed(session, _owner(broker), wanted)


@unset.command("topic")
@topic_argument
@click.argument(
    "names", nargs=-1, required=True, metavar="SETTING…", shell_complete=complete_setting("topic")
)
@broker_options
@pass_session
def unset_topic(session: Session, topic: str, names: tuple[str, ...]) -> None:
    """Reset settings of a topic to the broker's defaults."""
    answers = alter_configs(Cluster(session), "topic", [topic], {}, names)
    _check(session, f"Topic '{topic}'", answers, topic)
    say_changed(session, f"Topic '{topic}'", dict.fromkeys(names))


@unset.command("broker")
@click.argument(
    "names", nargs=-1, required=True, metavar="SETTING…", shell_complete=complete_setting("broker")
)
@broker_id
@broker_options
@pass_session
def unset_broker(session: Session, names: tuple[str, ...], broker: int | None) -> None:
    """Reset settings of all brokers, or of one with --id, to their values at start."""
    answers = _alter_brokers(Cluster(session), broker, {}, names)
    _check(session, _owner(broker), answers)
    say_changed(session, _owner(broker), dict.fromkeys(names))


def _alter_brokers(
    cluster: Cluster, broker: int | None, values: dict[str, str], unset: tuple[str, ...]
) -> dict[str, Any]:
    if broker is not None:
        return alter_configs(cluster, "broker", [str(broker)], values, unset)
    from tidelog.cli.direct.cluster import DirectCluster
    from tidelog.cli.direct.configs import Kind, change_settings

    changes = {**values, **dict.fromkeys(unset)}
    change_settings(DirectCluster(cluster.session), Kind.BROKER, {"": changes})
    return {}


def _owner(broker: int | None) -> str:
    return "All brokers" if broker is None else f"Broker {broker}"


def _check(session: Session, owner: str, answers: dict[str, Any], topic: str | None = None) -> None:
    from confluent_kafka import KafkaError

    for answer in answers.values():
        if isinstance(answer, KafkaError):
            if topic is not None and exit_for(answer) is Exit.NOT_FOUND:
                raise topic_error(answer, topic, session)
            raise as_cli_error(answer, session, owner)


@config.command(short_help="Say what a setting does.")
@click.argument("name", metavar="SETTING", shell_complete=complete_setting("any"))
@json_option
@pass_session
def explain(session: Session, name: str) -> None:
    """Say what a setting does: type, default, bounds, unit, and whether it can change at run time.

    Answers from Tidelog's own table; no broker is needed.
    """
    from tidelog.cli.config.table import explained

    pages = explained(name)
    if not pages:
        raise unknown_setting(name, known_settings("any"), "tidelog config show broker --all")
    if session.json:
        print_json(pages)
        return
    for number, page in enumerate(pages):
        if number:
            print()
        _print_page(page)


def _print_page(page: dict[str, Any]) -> None:
    from textwrap import wrap

    say(f"[bold]{page['name']}[/], a {page['scope']} setting")
    print("\n".join(wrap(page["doc"], 78)))
    print()
    facts = [(label.replace("_", " "), value) for label, value in page.items() if value not in (None, [], "")]
    print_table((), [fact for fact in facts if fact[0] not in ("name", "scope", "doc")])


for group, command in ((show, show_group), (set_, set_group), (unset, unset_group)):
    group.add_command(command)

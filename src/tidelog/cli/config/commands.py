"""`tidelog config`: show what holds and where it comes from, set, unset, and explain a setting."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from tidelog.cli.config.admin import ShownSetting, alter_configs, describe_configs
from tidelog.cli.config.table import hide_secrets, human_values, known_settings
from tidelog.cli.connection import Cluster, as_cli_error, exit_for
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.session import Command, Session, broker_options, json_option, parse_pair, pass_session
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


def _complete_setting(kind: str) -> Any:
    def complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [name for name in known_settings(kind) if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names]

    return complete


all_option = click.option("-a", "--all", "everything", is_flag=True, help="Defaults too.")
broker_id = click.option(
    "--id", "broker", type=int, metavar="N", help="One broker. [default: all brokers of the cluster]"
)
topic_argument = click.argument("topic", shell_complete=complete_topic)


def settings_argument(kind: str, name: str, metavar: str, required: bool) -> Callable[[Command], Command]:
    return click.argument(
        name, nargs=-1, required=required, metavar=metavar, shell_complete=_complete_setting(kind)
    )


def some_names(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "names", "[SETTING]…", False)


def names_to_unset(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "names", "SETTING…", True)


def values_to_set(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "values", "SETTING=VALUE…", True)


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
    _print(session, "topic", found, names, everything, f"Topic '{topic}'")


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
    _print(session, "broker", found, names, everything, f"Broker {wanted}")


def _broker_ids(cluster: Cluster) -> list[int]:
    return sorted(cluster.list_topics().brokers)


def _print(
    session: Session,
    kind: str,
    found: Sequence[ShownSetting],
    names: Sequence[str],
    everything: bool,
    owner: str,
) -> None:
    attempt = kind if kind == "broker" else f"topic {owner.split(chr(39))[1]}"
    if names:
        by_name = {setting.name: setting for setting in found}
        for name in names:
            if name not in by_name:
                raise unknown_setting(name, by_name, f"tidelog config show {attempt} --all")
        found = [by_name[name] for name in names]
    elif not everything:
        found = [setting for setting in found if setting.source != "default" and _own(kind, setting)]
    if session.json:
        print_json([setting.as_json() for setting in found])
    elif found:
        print_table(
            ("Setting", "Value", "Source"),
            [
                (setting.name, "(hidden)" if setting.sensitive else setting.value, _source(setting))
                for setting in found
            ],
        )
    else:
        say(f"{owner} has no settings of its own. Every setting: [bold]--all[/]")


def _own(kind: str, setting: ShownSetting) -> bool:
    """A topic's page starts with what is set on it; what its broker says shows with --all."""
    return kind != "topic" or setting.source == "topic"


def _source(setting: ShownSetting) -> str:
    return (
        f"{setting.source}, read-only"
        if setting.read_only and setting.source != "default"
        else setting.source
    )


@set_.command("topic")
@topic_argument
@click.argument(
    "values", nargs=-1, required=True, metavar="SETTING=VALUE…", shell_complete=_complete_setting("topic")
)
@broker_options
@pass_session
def set_topic(session: Session, topic: str, values: tuple[str, ...]) -> None:
    """Set settings of a topic: retention.ms=7d."""
    wanted = human_values("topic", dict(map(parse_pair, values)))
    answers = alter_configs(Cluster(session), "topic", [topic], wanted, ())
    _changed(session, f"Topic '{topic}'", answers, wanted, topic)


@set_.command("broker")
@click.argument(
    "values", nargs=-1, required=True, metavar="SETTING=VALUE…", shell_complete=_complete_setting("broker")
)
@broker_id
@broker_options
@pass_session
def set_broker(session: Session, values: tuple[str, ...], broker: int | None) -> None:
    """Set settings of all brokers, or of one with --id."""
    wanted = human_values("broker", dict(map(parse_pair, values)))
    answers = _alter_brokers(Cluster(session), broker, wanted, ())
    _changed(session, _owner(broker), answers, wanted)


@unset.command("topic")
@topic_argument
@click.argument(
    "names", nargs=-1, required=True, metavar="SETTING…", shell_complete=_complete_setting("topic")
)
@broker_options
@pass_session
def unset_topic(session: Session, topic: str, names: tuple[str, ...]) -> None:
    """Reset settings of a topic to the broker's defaults."""
    answers = alter_configs(Cluster(session), "topic", [topic], {}, names)
    _changed(session, f"Topic '{topic}'", answers, dict.fromkeys(names), topic)


@unset.command("broker")
@click.argument(
    "names", nargs=-1, required=True, metavar="SETTING…", shell_complete=_complete_setting("broker")
)
@broker_id
@broker_options
@pass_session
def unset_broker(session: Session, names: tuple[str, ...], broker: int | None) -> None:
    """Reset settings of all brokers, or of one with --id, to their values at start."""
    answers = _alter_brokers(Cluster(session), broker, {}, names)
    _changed(session, _owner(broker), answers, dict.fromkeys(names))


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


def _changed(
    session: Session, owner: str, answers: dict[str, Any], values: dict[str, Any], topic: str | None = None
) -> None:
    from confluent_kafka import KafkaError

    for answer in answers.values():
        if isinstance(answer, KafkaError):
            if topic is not None and exit_for(answer) is Exit.NOT_FOUND:
                raise topic_error(answer, topic, session)
            raise as_cli_error(answer, session, owner)
    values = hide_secrets(values)
    if session.json:
        print_json({"changed": values})
        return
    for name, value in values.items():
        print(f"{owner}: {name} is back to its default." if value is None else f"{owner}: {name}={value}")


@config.command(short_help="Say what a setting does.")
@click.argument("name", metavar="SETTING", shell_complete=_complete_setting("any"))
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


def unknown_setting(name: str, known: Any, attempt: str) -> CliError:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return CliError(f"There is no setting '{name}'.{hint}", attempt=attempt, code=Exit.NOT_FOUND)

"""`tidelog config … group`: settings of groups, which librdkafka does not offer."""

import click

from tidelog.cli.config.admin import SOURCES, ShownSetting
from tidelog.cli.config.options import all_option, names_to_unset, some_names, values_to_set
from tidelog.cli.config.showing import print_settings, say_changed
from tidelog.cli.config.table import human_values
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, change_settings
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.session import Session, broker_options, parse_pair, pass_session

group_argument = click.argument("group", metavar="GROUP")


@click.command("group")
@group_argument
@some_names("group")
@all_option
@broker_options
@pass_session
def show_group(session: Session, group: str, names: tuple[str, ...], everything: bool) -> None:
    """Show the settings that a group has of its own; with --all every setting, with SETTING only those."""
    found = describe_group(DirectCluster(session), group)
    print_settings(session, "group", found, names, everything, f"Group '{group}'")


@click.command("group")
@group_argument
@values_to_set("group")
@broker_options
@pass_session
def set_group(session: Session, group: str, values: tuple[str, ...]) -> None:
    """Set settings of a group: share.delivery.count.limit=10.

    The group need not exist yet.

    \b
    tidelog config set group workers share.record.lock.duration.ms=60s
    tidelog config set group workers errors.deadletterqueue.topic.name=dlq.workers
    tidelog config set group billing consumer.session.timeout.ms=60s
    """
    wanted = human_values("group", dict(map(parse_pair, values)))
    change_settings(DirectCluster(session), Kind.GROUP, {group: wanted})
    say_changed(session, f"Group '{group}'", wanted)


@click.command("group")
@group_argument
@names_to_unset("group")
@broker_options
@pass_session
def unset_group(session: Session, group: str, names: tuple[str, ...]) -> None:
    """Reset settings of a group to the brokers' defaults."""
    change_settings(DirectCluster(session), Kind.GROUP, {group: dict.fromkeys(names)})
    say_changed(session, f"Group '{group}'", dict.fromkeys(names))


def describe_group(direct: DirectCluster, group: str) -> list[ShownSetting]:
    from tidelog.wire.messages import describe_configs as wire

    resource = wire.DescribeConfigsResource(
        resource_type=Kind.GROUP, resource_name=group, configuration_keys=None
    )
    answer = direct.ask(wire.DescribeConfigsRequest(resources=[resource]), at_least=1)
    result = answer.results[0]
    if result.error_code:
        raise refusal(
            result.error_code,
            result.error_message,
            f"The settings of group '{group}'",
            cause="the broker is older than settings of groups (Kafka 3.7).",
        )
    return [
        ShownSetting(
            entry.name,
            None if entry.is_sensitive else entry.value,
            SOURCES.get(entry.config_source, "unknown"),
            entry.read_only,
            entry.is_sensitive,
        )
        for entry in sorted(result.configs, key=lambda entry: entry.name)
    ]

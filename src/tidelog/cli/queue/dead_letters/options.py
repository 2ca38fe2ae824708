"""The options that say which dead letters a command is about."""

from typing import Any

import click

from tidelog.cli.group.names import complete_group
from tidelog.cli.group.target import DurationType, now_ms
from tidelog.cli.queue.dead_letters.filters import LetterFilter
from tidelog.cli.session import Command
from tidelog.cli.topic.choice_option import topic_choice_option
from tidelog.cli.topic.names import complete_topic


def letter_options(command: Command) -> Command:
    for option in reversed(
        (
            click.argument("group", metavar="GROUP", shell_complete=complete_group),
            click.option(
                "--dead-letter-topic",
                "dead_letter_topic",
                metavar="TOPIC",
                shell_complete=complete_topic,
                help="Where the dead letters are. [default: as the group's setting "
                "errors.deadletterqueue.topic.name says]",
            ),
            topic_choice_option(
                "Only records that were in this topic, or in some of its partitions (jobs:0,2). Repeatable."
            ),
            click.option(
                "--reason",
                metavar="TEXT",
                help="Only these: rejected, too-often, or any text within the reason.",
            ),
            click.option(
                "--older-than",
                type=DurationType(),
                metavar="DURATION",
                help="Only records that have been dead letters for longer than 30m, 1h or 1d12h.",
            ),
            click.option(
                "--newer-than",
                type=DurationType(),
                metavar="DURATION",
                help="Only records that became dead letters within the last 30m, 1h or 1d12h.",
            ),
            click.option("--key", metavar="TEXT", help="Only records with this key."),
        )
    ):
        command = option(command)
    return command


def letter_filter(
    group: str,
    choices: Any,
    reason: str | None,
    older_than: int | None,
    newer_than: int | None,
    key: str | None,
) -> LetterFilter:
    now = now_ms()
    return LetterFilter(
        group,
        choices,
        reason,
        None if older_than is None else now - older_than,
        None if newer_than is None else now - newer_than,
        None if key is None else key.encode(),
    )

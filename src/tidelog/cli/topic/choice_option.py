"""`--topic jobs:0,2`: the option that names topics, or some of their partitions."""

from collections.abc import Callable

import click

from tidelog.cli.partition_choice import TopicChoiceType
from tidelog.cli.session import Command
from tidelog.cli.topic.names import complete_topic


def topic_choice_option(help_text: str, *, required: bool = False) -> Callable[[Command], Command]:
    return click.option(
        "-t",
        "--topic",
        "choices",
        type=TopicChoiceType(),
        multiple=True,
        required=required,
        metavar="TOPIC[:PARTITION,…]",
        shell_complete=complete_topic,
        help=help_text,
    )

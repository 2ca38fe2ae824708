"""The commands that errors recommend are there."""

import re
from collections.abc import Iterator

import click
import pytest

from tidelog.cli.main import cli
from tidelog.clients.error_table import CREATE_IT, SEE_PARTITIONS
from tidelog.clients.errors import ClientError


def family(error: type[ClientError]) -> Iterator[type[ClientError]]:
    yield error
    for child in error.__subclasses__():
        yield from family(child)


ADVICE = sorted(
    {
        found
        for text in (CREATE_IT, SEE_PARTITIONS, *(error.attempt for error in family(ClientError)))
        for found in re.findall(r"tidelog ([a-z]+ [a-z-]+)", text or "")
    }
)


@pytest.mark.parametrize("command", ADVICE)
def test_a_recommended_command_exists(command: str) -> None:
    group_name, name = command.split()
    group = cli.get_command(click.Context(cli), group_name)
    assert group is not None
    if isinstance(group, click.Group):
        assert name in group.commands


def test_some_are_recommended() -> None:
    assert {"topic list", "topic create", "topic describe"} <= set(ADVICE)

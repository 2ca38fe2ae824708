"""Every command and option is explained, the reference page is fresh, and --json is everywhere."""

import click
import pytest

from tools import commands_reference
from tools.pages import stale_pages

CONTEXTS = list(commands_reference.walk())
each_command = pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.command_path)


def test_the_page_is_fresh() -> None:
    assert not stale_pages(commands_reference.PAGES), "run: make docs"


def test_there_are_commands_to_look_at() -> None:
    paths = {context.command_path for context in CONTEXTS}
    assert {
        "tidelog up",
        "tidelog topic add-partitions",
        "tidelog config set broker",
        "tidelog log dump",
    } <= paths


@each_command
def test_every_command_says_what_it_does(context: click.Context) -> None:
    text = context.command.help or ""
    assert text.split("\n")[0].endswith(".")


@each_command
def test_every_option_says_what_it_does(context: click.Context) -> None:
    for parameter in context.command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{context.command_path} {parameter.opts[0]} has no help"
            assert not parameter.help.startswith("["), f"{parameter.opts[0]} says only its default"


@each_command
def test_every_command_takes_json(context: click.Context) -> None:
    if not isinstance(context.command, click.Group):
        assert any("--json" in parameter.opts for parameter in context.command.params)

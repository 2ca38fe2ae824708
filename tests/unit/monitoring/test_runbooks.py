"""Each alert has its runbook, and what a runbook tells people to type or set exists."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.cli.main import cli
from tidelog.monitoring.alerts.catalogue import ALERTS

RUNBOOKS = Path(__file__).parents[3] / "docs" / "runbooks"
PAGES = sorted(RUNBOOKS.glob("Tidelog*.md"))
NAMES = [alert.name for alerts in ALERTS.values() for alert in alerts]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)

_FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(tidelog [^`]+)`")
_SETTING = re.compile(r"`([a-z]+(?:\.[a-z]+)+)`")
_OF_TOPICS_AND_CLIENTS = {
    *("retention.ms", "retention.bytes", "cleanup.policy"),
    *("linger.ms", "fetch.min.bytes", "delivery.timeout.ms", "transaction.timeout.ms"),
    *("tidelog.metrics",),
}


def commands(text: str) -> Iterator[list[str]]:
    lines = [line for block in _FENCE.findall(text) for line in block.splitlines()]
    for line in [*lines, *_INLINE.findall(text)]:
        words = shlex.split(line)
        if words and words[0] == "tidelog":
            yield words[1:]


def faults(words: list[str]) -> Iterator[str]:
    """Yields what `tidelog` would not understand: a command that does not exist, or an option."""
    command: click.Command = cli
    context = click.Context(cli, info_name="tidelog")
    rest = list(words)
    while isinstance(command, click.Group) and rest:
        name = rest.pop(0)
        found = command.get_command(context, name)
        if found is None:
            yield f"{context.command_path} has no {name}"
            return
        command, context = found, click.Context(found, info_name=name, parent=context)
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in rest if word.startswith("-") and word not in options]
    yield from (f"{context.command_path} has no {word}" for word in unknown)


def test_each_alert_has_its_page() -> None:
    assert [page.stem for page in PAGES] == sorted(NAMES)


@each_page
def test_a_page_says_what_to_look_at_what_to_do_and_how_to_prevent_it(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        f"# {page.stem}",
        "## Look",
        "## Do",
        "## Prevent",
    ]


@each_page
def test_commands_exist(page: Path) -> None:
    assert [fault for words in commands(page.read_text()) for fault in faults(words)] == []


@each_page
def test_settings_exist(page: Path) -> None:
    named = set(_SETTING.findall(page.read_text())) - _OF_TOPICS_AND_CLIENTS
    assert named - set(BROKER_SETTINGS) == set()


def test_a_wrong_command_is_noticed() -> None:
    assert list(faults(["cluster", "status", "--check"])) == []
    assert list(faults(["cluster", "heal"])) == ["tidelog cluster has no heal"]
    assert list(faults(["cluster", "status", "--fast"])) == ["tidelog cluster status has no --fast"]

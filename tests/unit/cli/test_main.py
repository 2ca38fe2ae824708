"""The front door: help, exit codes of wrong calls, errors for people and for machines, laziness."""

import json
import subprocess
import sys

import click
import pytest

from tidelog import __version__
from tidelog.cli.exits import Exit
from tidelog.cli.main import COMMANDS, cli, run


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == Exit.OK
    assert capsys.readouterr().out == f"tidelog {__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == Exit.OK
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["topic", "nonsense"],
        ["topic", "create"],
        ["topic", "create", "a", "--partitions", "0"],
        ["topic", "alter", "a"],
        ["consume", "a", "--from", "yesterday"],
        ["consume", "a", "--format", "xml"],
        ["produce", "a", "x", "--null-value"],
        ["produce", "a", "x", "--idempotent", "--acks", "1"],
        ["produce", "a", "x", "--timestamp", "42"],
        ["produce", "a", "x", "-H", "no-equal-sign"],
        ["config", "set", "topic", "a", "no-equal-sign"],
        ["topic", "list", "-b", "host:port"],
        ["up", "--set", "no-equal-sign"],
        ["up", "--set", "log.retention=7d"],
        ["log", "dump", "/etc/hostname"],
    ],
)
def test_a_wrong_call_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    caught = capsys.readouterr()
    assert "Error" in caught.err
    assert "Traceback" not in caught.err


def test_a_wrong_command_leads_to_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tpoic"]) == Exit.USAGE
    assert "topic" in capsys.readouterr().err


def test_errors_are_json_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "explain", "retention.sm", "--json"]) == Exit.NOT_FOUND
    error = json.loads(capsys.readouterr().err)
    assert error["error"] == "NOT_FOUND"
    assert error["exit_code"] == 3
    assert "retention.ms" in error["message"]


def test_the_table_of_commands_says_what_the_commands_say() -> None:
    context = click.Context(cli)
    for name, entry in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(200) == entry.short_help


def modules_after(arguments: str) -> set[str]:
    """What a fresh interpreter has imported once the command has run."""
    report = "print(*sys.modules, file=sys.stderr)"
    code = f"import sys; from tidelog.cli.main import run; run({arguments}); {report}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_help_imports_no_command_and_no_library_but_click() -> None:
    loaded = modules_after("['--help']")
    assert not loaded & {
        "rich",
        "confluent_kafka",
        "asyncio",
        "yaml",
        "msgspec",
        "tidelog.cli.topic.commands",
    }


def test_the_way_to_up_is_short() -> None:
    loaded = modules_after("['up', '--help']")
    assert "tidelog.cli.up.commands" in loaded
    assert not loaded & {"rich", "confluent_kafka", "tidelog.node", "difflib"}

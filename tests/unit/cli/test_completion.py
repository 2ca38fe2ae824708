"""The TAB key."""

import json

import pytest
from click.shell_completion import ShellComplete

from tidelog.cli.exits import Exit
from tidelog.cli.main import cli, run


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete ")]
)
def test_the_script_is_for_the_shell(shell: str, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == Exit.OK
    out = capsys.readouterr().out
    assert "_TIDELOG_COMPLETE" in out
    assert mark in out


def test_as_json_it_says_where_to_put_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "fish", "--json"]) == Exit.OK
    assert "~/.config/fish" in json.loads(capsys.readouterr().out)["install"]


def completions(*words: str) -> list[str]:
    *before, incomplete = words
    complete = ShellComplete(cli, {}, "tidelog", "_TIDELOG_COMPLETE")
    return [item.value for item in complete.get_completions(list(before), incomplete)]


def test_commands_options_and_settings_complete() -> None:
    assert completions("co") == ["consume", "context", "config", "completion"]
    assert completions("topic", "de") == ["delete", "describe"]
    assert completions("consume", "orders", "--fo") == ["--follow", "--format"]
    assert "retention.ms" in completions("config", "explain", "retention")
    assert "log.retention.ms=" in completions("up", "--set", "log.ret")
    assert "retention.ms" in completions("config", "unset", "topic", "orders", "retention.")

"""What the wheel brings for shells and for man: completions as click writes them, a page for each command."""

from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from tidelog.cli.main import cli
from tools.commands_reference import page as reference
from tools.man_pages import man_pages

SHARE = Path(__file__).parents[3] / "share"
SCRIPTS = {
    "bash": SHARE / "bash-completion" / "completions" / "tidelog",
    "zsh": SHARE / "zsh" / "site-functions" / "_tidelog",
    "fish": SHARE / "fish" / "vendor_completions.d" / "tidelog.fish",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_completion_script_is_the_one_of_click(shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    assert SCRIPTS[shell].read_text() == kind(cli, {}, "tidelog", "_TIDELOG_COMPLETE").source(), (
        f"run: tidelog completion {shell} > {SCRIPTS[shell]}"
    )


def test_there_are_no_other_files() -> None:
    assert {path for path in SHARE.rglob("*") if path.is_file()} == set(SCRIPTS.values())


def test_every_command_has_its_man_page_with_all_that_is_below_it() -> None:
    pages = man_pages(reference())
    names = cli.list_commands(click.Context(cli))
    assert list(pages) == ["tidelog.1", *(f"tidelog-{name}.1" for name in names)]
    assert ".SH TIDELOG TOPIC CREATE" in pages["tidelog-topic.1"]
    assert "\\fB\\-p, \\-\\-partitions N\\fR" in pages["tidelog-topic.1"]
    assert ".BR tidelog\\-topic (1) ," in pages["tidelog.1"]
    assert "\\fB130\\fR" in pages["tidelog.1"]


def test_texts_that_roff_would_take_for_its_own() -> None:
    section = """## `tidelog`

.TH is no request, nor is \\n, and `a-b` …

    tidelog [OPTIONS]

## Options of every command that talks to a broker

## Exit codes
"""
    page = man_pages(section)["tidelog.1"]
    assert "\n\\&.TH is no request, nor is \\en, and \\fBa\\-b\\fR \\[u2026]\n" in page

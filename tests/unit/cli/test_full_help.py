"""The list of commands in a group's help: nothing is cut off."""

import pytest

from tidelog.cli.main import run


@pytest.mark.parametrize("group", ["topic", "group", "txn", "cluster", "config", "log"])
def test_sentences_are_whole(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group, "--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2]
    assert listed.strip()
    assert "..." not in listed


def test_only_the_first_paragraph(capsys: pytest.CaptureFixture[str]) -> None:
    run(["cluster", "--help"])
    listed = " ".join(capsys.readouterr().out.split())
    assert "Move all replicas away from brokers that are to leave" in listed
    assert "Three or five voters are usual" not in listed

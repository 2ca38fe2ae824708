"""`tidelog security`: its own commands, and those of `tidelog` that belong to security too."""

import pytest

from tests.unit.cli.security.conftest import command
from tidelog.cli.security.commands import security


def test_commands_of_tidelog_itself_can_be_called_from_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "quota", "--help") == 0
    there = capsys.readouterr().out
    assert command("quota", "--help") == 0
    assert capsys.readouterr().out == there.replace("tidelog security quota", "tidelog quota")
    assert {"acl", "role", "quota"} == set(security.from_root)  # type: ignore[attr-defined]


def test_other_commands_of_tidelog_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "topic") == 2
    assert "No such command 'topic'" in capsys.readouterr().err

"""`tidelog security`: its own commands, and those of `tidelog` that belong to security too."""

import pytest

from tests.unit.cli.security.conftest import command


@pytest.mark.parametrize("name", ["acl", "role", "quota"])
def test_commands_of_tidelog_itself_can_be_called_from_here(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("security", name, "--help") == 0
    there = capsys.readouterr().out
    assert command(name, "--help") == 0
    assert capsys.readouterr().out == there.replace(f"tidelog security {name}", f"tidelog {name}")


def test_other_commands_of_tidelog_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "topic") == 2
    assert "No such command 'topic'" in capsys.readouterr().err

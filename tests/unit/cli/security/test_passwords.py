"""Where passwords come from: a prompt, a file, the environment; never the command line."""

from pathlib import Path

import pytest

from tidelog.cli.exits import CliError
from tidelog.cli.security.passwords import new_password, read_password


def test_from_a_file_the_first_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("se cret \r\nnot this\n")
    assert read_password("u", str(file), None, False) == "se cret "


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    assert read_password("u", None, "SECRET", False) == "s"


def test_a_generated_password_needs_no_quotes() -> None:
    assert new_password() != new_password()
    assert new_password().replace("-", "").replace("_", "").isalnum()


def test_an_empty_or_missing_password_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").write_text("\n")
    monkeypatch.delenv("SECRET", raising=False)
    for file, variable in ((str(tmp_path / "empty"), None), (str(tmp_path / "gone"), None), (None, "SECRET")):
        with pytest.raises(CliError):
            read_password("u", file, variable, False)


def test_two_sources_are_refused() -> None:
    with pytest.raises(CliError, match="exclude each other"):
        read_password("u", "file", None, True)


def test_without_a_terminal_there_is_no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(CliError, match="no terminal"):
        read_password("u", None, None, False)

"""Where the scripts are kept that Spark runs: nowhere that others could change them."""

import os
from pathlib import Path

import pytest

from tidelog.spark.engine.scripts import cache_directory, write_script


@pytest.fixture
def without_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "tidelog"


def test_a_user_without_a_home(without_home: Path) -> None:
    directory = cache_directory()
    assert directory == without_home / f"tidelog-{os.getuid()}" == cache_directory()
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["writable by all", "a link"])
def test_a_directory_that_somebody_else_may_have_made(without_home: Path, kind: str) -> None:
    taken = without_home / f"tidelog-{os.getuid()}"
    (without_home / "elsewhere").mkdir(mode=0o700)
    if kind == "a link":
        taken.symlink_to(without_home / "elsewhere")
    else:
        taken.mkdir()
        taken.chmod(0o777)
    directory = cache_directory()
    assert directory not in (taken, without_home / "elsewhere")
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_script_can_be_run(tmp_path: Path) -> None:
    script = write_script(tmp_path / "bin" / "hello", "#!/bin/sh\n")
    assert os.access(script, os.X_OK)
    assert [found.name for found in script.parent.iterdir()] == ["hello"]

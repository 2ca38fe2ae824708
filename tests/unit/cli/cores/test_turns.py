"""Machines on one computer that take turns."""

import fcntl
from pathlib import Path

import pytest

from tidelog.cli.cores.turns import FILE, Turns


def take(directory: Path) -> None:
    with (directory / FILE).open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_machine_has_its_turn_alone(tmp_path: Path) -> None:
    with Turns(str(tmp_path)).wait(), pytest.raises(BlockingIOError):
        take(tmp_path)
    take(tmp_path)


def test_a_turn_ends_where_it_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no leader"), Turns(str(tmp_path)).wait():
        raise ValueError("no leader")
    take(tmp_path)


def test_a_machine_that_has_its_computer_to_itself_waits_for_none() -> None:
    with Turns(None).wait():
        pass

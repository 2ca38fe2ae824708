"""A core never takes the id of a broker on another machine."""

import os
from pathlib import Path

import pytest

from tidelog.cli.cluster.view import Broker
from tidelog.cli.cores.strangers import new_cores, stranger
from tidelog.cli.log.core_dirs import core_log_dir


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("machine", [None, "1001", "rack-2"])
def test_a_core_with_the_id_of_another_broker_is_refused(machine: str | None, fenced: bool) -> None:
    known = {1001: Broker(1001, "far", 9092, fenced=fenced, machine=machine)}
    found = stranger({1001: 1, 2001: 2}, known, "1")
    assert found is not None
    assert found.message.startswith("Core 1 of this machine would be broker 1001")
    assert "at far:9092" in found.message
    assert "--cores 1;" in (found.attempt or "")


def test_a_core_of_this_machine_that_lost_its_log_dir_may_start() -> None:
    assert stranger({1001: 1, 2001: 2}, {1001: Broker(1001, "h", 9093, machine="1")}, "1") is None


def test_cores_with_a_log_dir_are_not_new(tmp_path: Path) -> None:
    log_dirs = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert new_cores([1, 1001, 2001], log_dirs) == {1001: 1, 2001: 2}
    os.makedirs(core_log_dir(log_dirs[1], 1))
    assert new_cores([1, 1001, 2001], log_dirs) == {2001: 2}

"""The bootstrap file in a log dir: read before the broker joins, removed once the cluster exists."""

import logging

import pytest

from tests.unit.metadata.security.test_bootstrap import bootstrap, decide
from tidelog.base.errors import StorageError
from tidelog.base.ports import replace_file
from tidelog.broker.controller.bootstrap_file import FILE, read_bootstrap, retire_bootstrap
from tidelog.metadata.image.image import ClusterImage
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


def disk_with(raw: bytes | None) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs("/d")
    if raw is not None:
        replace_file(disk, f"/d/{FILE}", raw)
    return disk


def test_without_a_file_nothing_happens() -> None:
    disk = disk_with(None)
    assert read_bootstrap(disk, "/d", "c") is None
    retire_bootstrap(disk, "/d", None, ClusterImage())


def test_the_file_goes_once_the_cluster_has_its_users() -> None:
    disk = disk_with(bootstrap().dump())
    found = read_bootstrap(disk, "/d", "c")
    assert found == bootstrap()
    retire_bootstrap(disk, "/d", found, decide(ClusterImage(), found))
    assert not disk.exists(f"/d/{FILE}")


def test_a_file_for_another_cluster_than_the_configured_one_is_refused() -> None:
    disk = disk_with(bootstrap(cluster_id="other").dump())
    with pytest.raises(StorageError, match="first users of cluster other"):
        read_bootstrap(disk, "/d", "c")


def test_a_file_for_another_cluster_than_that_of_the_voters_is_refused() -> None:
    disk = disk_with(bootstrap(cluster_id="other").dump())
    found = read_bootstrap(disk, "/d", None)
    with pytest.raises(StorageError, match="first users of cluster other"):
        retire_bootstrap(disk, "/d", found, decide(ClusterImage(), None))
    assert disk.exists(f"/d/{FILE}")


def test_users_of_an_old_cluster_stay_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    disk = disk_with(bootstrap().dump())
    found = read_bootstrap(disk, "/d", None)
    with caplog.at_level(logging.WARNING):
        retire_bootstrap(disk, "/d", found, decide(ClusterImage(), None))
    assert "tidelog security user add" in caplog.text
    assert not disk.exists(f"/d/{FILE}")

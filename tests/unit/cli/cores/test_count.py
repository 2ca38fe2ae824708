"""How many cores, by the setting, the cgroup, and the log dirs."""

import os
from pathlib import Path

import pytest

from tidelog.base.config.config import ConfigError, load
from tidelog.cli.cores.count import usable_cores, wanted_cores
from tidelog.cli.cores.leftovers import partitions_in, remove_log_dirs
from tidelog.cli.log.core_dirs import core_log_dir, known_cores
from tidelog.cli.up.settings import has_cores


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_setting_counts() -> None:
    assert wanted_cores(load(None, {}, {"broker.cores": "5"})) == 5
    assert wanted_cores(load(None, {}, {})) == 1


@pytest.mark.usefixtures("eight_cores")
def test_auto_takes_what_the_process_may_use(tmp_path: Path) -> None:
    assert usable_cores(str(tmp_path)) == 8
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    for text, cores in (
        ("max 100000", 8),
        ("150000 100000", 2),
        ("1000 100000", 1),
        ("nonsense", 8),
        ("1 0", 8),
    ):
        write(tmp_path / "sys/fs/cgroup/cpu.max", text)
        assert usable_cores(str(tmp_path)) == cores


@pytest.mark.usefixtures("eight_cores")
def test_auto_takes_the_share_of_a_service(tmp_path: Path) -> None:
    """systemd's CPUQuota is in the cgroup of the service, or of a slice above it."""
    write(tmp_path / "proc/self/cgroup", "0::/system.slice/tidelog.service\n")
    write(tmp_path / "sys/fs/cgroup/system.slice/cpu.max", "300000 100000")
    write(tmp_path / "sys/fs/cgroup/system.slice/tidelog.service/cpu.max", "max 100000")
    assert usable_cores(str(tmp_path)) == 3
    write(tmp_path / "sys/fs/cgroup/system.slice/tidelog.service/cpu.max", "200000 100000")
    assert usable_cores(str(tmp_path)) == 2


@pytest.mark.usefixtures("eight_cores")
def test_auto_takes_the_share_of_a_container_under_version_1(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    for quota, cores in (("-1", 8), ("200000", 2)):
        write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", f"{quota}\n")
        assert usable_cores(str(tmp_path)) == cores


@pytest.mark.parametrize("text", ["0", "-1", "two", "257", "9" * 20, "1.5", "²"])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="neither auto nor a number"):
        load(None, {}, {"broker.cores": text})


def test_log_dirs_tell_of_earlier_starts(tmp_path: Path) -> None:
    log_dir = str(tmp_path)
    assert (known_cores([log_dir]), core_log_dir(log_dir, 0)) == (1, log_dir)
    config = load(None, {}, {"log.dirs": log_dir})
    assert not has_cores(config)
    for core in (1, 2):
        os.makedirs(os.path.join(core_log_dir(log_dir, core), "__cluster_metadata-0"))
    assert known_cores([log_dir, "/nowhere"]) == 3
    assert has_cores(config)
    remove_log_dirs([log_dir], 2)
    assert known_cores([log_dir]) == 2
    remove_log_dirs([log_dir], 1)
    assert not has_cores(config)


def test_a_log_dir_with_partitions_is_not_removed(tmp_path: Path) -> None:
    directory = core_log_dir(str(tmp_path), 1)
    for name in ("orders-0", "old-1.0123-delete", "__cluster_metadata-0", "other"):
        os.makedirs(os.path.join(directory, name))
    assert partitions_in(directory) == ["orders-0"]
    assert remove_log_dirs([str(tmp_path)], 1) == [f"{directory}/orders-0"]
    assert os.path.isdir(directory)


@pytest.mark.parametrize("name", ["orders-0-stray", "orders-0-stray-2"])
def test_what_a_broker_set_aside_is_not_removed(tmp_path: Path, name: str) -> None:
    directory = core_log_dir(str(tmp_path), 1)
    os.makedirs(os.path.join(directory, name))
    remove_log_dirs([str(tmp_path)], 1)
    assert partitions_in(directory) == [name]


def test_a_crash_while_log_dirs_are_removed_leaves_no_core_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a metadata log would keep the core, and with it the machine, from starting."""
    log_dir = str(tmp_path)
    os.makedirs(os.path.join(core_log_dir(log_dir, 1), "__cluster_metadata-0"))
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    remove_log_dirs([log_dir], 1)
    assert known_cores([log_dir]) == 1
    assert not has_cores(load(None, {}, {"log.dirs": log_dir}))

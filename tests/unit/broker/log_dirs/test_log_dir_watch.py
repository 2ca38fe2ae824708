"""The free space of log dirs is measured beside the loop, and logged when it begins or ceases to matter."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.quorum import Dice, LoopClock, at_once
from tests.rigs.virtual_time import run
from tidelog.base.config.config import BrokerConfig, load
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dir_watch import LogDirWatch
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

MIB = 1 << 20


def config() -> BrokerConfig:
    return load(None, {}, {"log.dirs.min.free.bytes": str(10 * MIB)})


def opened(disk: MemoryDisk, *paths: str) -> LogDirs:
    for path in paths:
        disk.make_dirs(path)
    return LogDirs.open(disk, paths, cluster_id=None, node_id=1, random=Dice())


def nothing_failed(log_dir: LogDir, error: OSError) -> None:
    raise AssertionError(f"{log_dir.path}: {error}")


def test_one_line_each_way(caplog: pytest.LogCaptureFixture) -> None:
    async def life() -> None:
        disk = MemoryDisk(capacity_bytes=100 * MIB)
        log_dirs = opened(disk, "/data")
        watch = LogDirWatch(log_dirs, LoopClock(), at_once, config, nothing_failed)
        await watch.run_once()
        assert not log_dirs.first.reserve.is_refusing
        disk.capacity_bytes = 8 * MIB
        for _ in range(3):
            await watch.run_once()
        assert log_dirs.first.reserve.is_refusing
        disk.capacity_bytes = 100 * MIB
        for _ in range(3):
            await watch.run_once()
        assert not log_dirs.first.reserve.is_refusing

    run(life())
    assert caplog.text.count("clients' records are refused") == 1
    assert caplog.text.count("clients' records are accepted again") == 1


def test_a_disk_that_is_going_to_be_full_is_named_before(caplog: pytest.LogCaptureFixture) -> None:
    async def life() -> None:
        disk = MemoryDisk(capacity_bytes=100 * MIB)
        log_dirs = opened(disk, "/data")
        watch = LogDirWatch(log_dirs, LoopClock(), at_once, config, nothing_failed)
        for _ in range(200):
            await watch.run_once()
            await asyncio.sleep(1)
            disk.capacity_bytes = (disk.capacity_bytes or 0) - MIB // 8
        assert watch.seconds_until_refusing(log_dirs.first) == pytest.approx(520, rel=0.1)

    run(life())
    assert caplog.text.count("in about ") == 1


def test_a_file_system_that_does_not_answer_holds_up_nothing() -> None:
    async def life() -> None:
        asked: list[asyncio.Future[Any]] = []

        def never(job: Callable[[], Any]) -> "asyncio.Future[Any]":
            asked.append(asyncio.get_running_loop().create_future())
            return asked[-1]

        log_dirs = opened(MemoryDisk(), "/a", "/b")
        watch = LogDirWatch(log_dirs, LoopClock(), never, config, nothing_failed)
        for _ in range(3):
            await watch.run_once()
        assert len(asked) == 2, "asked once each"
        asked[1].set_result((100 * MIB, MIB))
        await asyncio.sleep(0)
        assert [one.reserve.is_refusing for one in log_dirs] == [False, True]
        assert log_dirs.log_dir_for("t", bytes([7] * 16), 0, may_be_new=True).path == "/a"

    run(life())

"""The space and the faults of log dirs, as a scrape shows them."""

import asyncio

from tests.rigs.quorum import Dice, LoopClock, at_once
from tests.rigs.virtual_time import run
from tidelog.base.config.config import load
from tidelog.broker.log_dirs.log_dir_watch import LogDirWatch
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.metrics.log_dirs import collect_log_dirs
from tidelog.metrics.page import Page
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

MIB = 1 << 20


def test_a_disk_that_fills_up_and_one_that_is_gone() -> None:
    async def life() -> set[str]:
        disk = MemoryDisk(capacity_bytes=100 * MIB)
        for path in ("/a", "/b"):
            disk.make_dirs(path)
        log_dirs = LogDirs.open(disk, ["/a", "/b"], cluster_id=None, node_id=1, random=Dice())
        config = load(None, {}, {"log.dirs.min.free.bytes": str(10 * MIB)})
        watch = LogDirWatch(
            log_dirs, LoopClock(), at_once, lambda: config, lambda log_dir, e: log_dir.fail(e)
        )
        for _ in range(150):
            await watch.run_once()
            await asyncio.sleep(1)
        disk.remove_tree("/b")
        disk.capacity_bytes = 5 * MIB
        for _ in range(2):
            await watch.run_once()
            await asyncio.sleep(0)
        page = Page()
        for _ in collect_log_dirs(page, log_dirs, watch):
            pass
        return {line for lines in page.lines.values() for line in lines}

    lines = run(life())
    assert 'tidelog_log_dir_refusing{log_dir="/a"} 1' in lines
    assert f'tidelog_log_dir_reserve_bytes{{log_dir="/a"}} {10 * MIB}' in lines
    assert f'tidelog_log_dir_total_bytes{{log_dir="/a"}} {5 * MIB}' in lines
    assert 'tidelog_log_dir_refusing_in_seconds{log_dir="/a"} 0.0' in lines
    assert not any("free_bytes" in line and "/b" in line for line in lines)

"""A journal that failed begins anew after a pause, once the files of the logs have all."""

import asyncio
import errno
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tests.unit.broker.log_dirs.test_log_dir_journal import Rig as LogDirRig
from tidelog.broker.log_dirs.journal_restarts import (
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    SOUND_SECONDS,
    JournalRestarts,
)
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.storage.segment.warm import WarmSegments


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return int(self.now * 1000)


class Rig(LogDirRig):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        log_dirs = LogDirs([self.log_dir], WarmSegments())
        self.restarts = JournalRestarts(log_dirs, self.clock, self.in_thread)
        for _ in range(3):
            self.share()

    def in_thread(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        future = asyncio.get_running_loop().create_future()
        try:
            future.set_result(job())
        except OSError as error:
            future.set_exception(error)
        return future

    def break_journal(self) -> None:
        self.disk.fail("sync", "/tidelog-journal", error=errno.EIO)
        self.share()
        assert self.journal.failure is not None
        self.disk.heal()

    def sync_files(self) -> None:
        flush = self.log.begin_flush()
        assert flush is not None
        flush.run()
        self.log.finish_flush(flush)

    def looks_until_restart(self, most: float) -> float:
        """Seconds, looking once in each; `most` where it does not begin anew before."""

        async def look() -> float:
            began = self.clock.now
            while self.journal.failure is not None and self.clock.now - began < most:
                await self.restarts.run_once()
                self.clock.now += 1
            return self.clock.now - began - 1

        return run(look())


def test_it_begins_anew_after_a_pause_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.break_journal()
    rig.sync_files()
    with caplog.at_level(logging.WARNING):
        assert rig.looks_until_restart(100) == PAUSE_SECONDS
    assert "the journal of /data begins anew after: [Errno 5]" in caplog.text
    assert rig.journal_files() == []
    assert rig.meta().startswith(b"version=1\n")
    rig.share()
    rig.share()
    assert rig.meta().startswith(b"version=2\n")
    assert rig.log.synced_end == rig.log.end > rig.log.recovery_point
    rig.disk.release_locks()
    rig.open()
    assert rig.log.end == 6


def test_it_does_not_while_a_file_lacks_what_is_in_it() -> None:
    rig = Rig()
    rig.break_journal()
    assert rig.looks_until_restart(1000) == 999
    rig.sync_files()
    assert rig.looks_until_restart(100) == 0


def test_a_disk_that_stays_bad_is_tried_ever_more_seldom() -> None:
    rig = Rig()
    pauses = []
    for _ in range(11):
        rig.break_journal()
        rig.sync_files()
        pauses.append(rig.looks_until_restart(2 * PAUSE_SECONDS_MAX))
        rig.share()
        rig.share()
    assert pauses[:4] == [PAUSE_SECONDS * 2**n for n in range(4)]
    assert pauses[-1] == PAUSE_SECONDS_MAX
    rig.clock.now += SOUND_SECONDS
    rig.break_journal()
    rig.sync_files()
    assert rig.looks_until_restart(100) == PAUSE_SECONDS


def test_a_log_dir_that_cannot_note_the_end_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.break_journal()
    rig.sync_files()
    rig.disk.fail("rename", "meta.properties")
    with caplog.at_level(logging.WARNING):
        assert rig.looks_until_restart(PAUSE_SECONDS + 5) == PAUSE_SECONDS + 4
    assert "cannot begin anew yet" in caplog.text
    rig.disk.heal()
    assert rig.looks_until_restart(100) < 2 * PAUSE_SECONDS

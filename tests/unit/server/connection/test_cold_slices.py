import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidelog.base.disk import PosixDisk, PosixFile
from tidelog.base.ports import FileSlice
from tidelog.server.connection import cold_slices
from tidelog.server.connection.cold_slices import (
    AHEAD_BYTES_MAX,
    AHEAD_FACTOR,
    ColdSlices,
    bring_in,
    is_cached,
)

MIB = 1 << 20


class File:
    path = "/data/t-0/00000000000000000000.log"

    def __init__(self, cached: int = 0) -> None:
        self.cached = cached
        """Bytes from the beginning that are in the page cache."""


class Job:
    def __init__(self, file: File, position: int, length: int) -> None:
        self.asked = (position, length)
        self._file = file
        self._done: Callable[[object], None] = lambda _: None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def add_done_callback(self, done: Callable[[object], None]) -> None:
        self._done = done

    def finish(self, *, in_vain: bool = False) -> None:
        if not in_vain:
            self._file.cached = max(self._file.cached, sum(self.asked))
        self._done(None)


class Loop:
    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def run_in_executor(self, _: None, work: object, file: File, position: int, length: int) -> Job:
        assert work is cold_slices.bring_in
        self.jobs.append(Job(file, position, length))
        return self.jobs[-1]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    def is_cached(file: Any, position: int) -> bool:
        return bool(position < file.cached)

    monkeypatch.setattr(cold_slices, "is_cached", is_cached)
    monkeypatch.setattr(cold_slices, "_NOWAIT", 1)
    return Loop()


def piece(file: File, position: int, length: int = MIB) -> FileSlice:
    return FileSlice(file, position, length)  # type: ignore[arg-type]


def slices(loop: Loop, told: list[str]) -> ColdSlices:
    return ColdSlices(loop, lambda: told.append("there"))  # type: ignore[arg-type]


def test_what_is_cached_is_sent_at_once(loop: Loop) -> None:
    cold, file = slices(loop, []), File(cached=4 * MIB)
    assert not cold.must_wait(piece(file, 0), MIB)
    assert loop.jobs == []


def test_what_is_cold_is_waited_for_and_nothing_more_is_read_for_one_who_may_go_elsewhere(loop: Loop) -> None:
    told: list[str] = []
    cold, file = slices(loop, told), File()
    assert cold.must_wait(piece(file, 5 * MIB), MIB)
    [job] = loop.jobs
    assert job.asked == (5 * MIB, MIB)
    assert told == []
    job.finish()
    assert told == ["there"]
    assert not cold.must_wait(piece(file, 5 * MIB), MIB)


def test_what_was_brought_in_is_sent_even_if_it_is_gone_again(loop: Loop) -> None:
    """Where memory is short, waiting once more could go on for ever."""
    told: list[str] = []
    cold, file = slices(loop, told), File()
    assert cold.must_wait(piece(file, 0), MIB)
    loop.jobs[0].finish(in_vain=True)
    assert told == ["there"]
    assert not cold.must_wait(piece(file, 0), MIB)
    cold.sent(piece(file, 0), MIB)
    assert cold.must_wait(piece(file, MIB), MIB)


def test_one_who_reads_on_finds_the_next_bytes_in_memory(loop: Loop) -> None:
    told: list[str] = []
    cold, file = slices(loop, told), File(cached=2 * MIB)
    cold.sent(piece(file, 0), MIB)
    assert loop.jobs == []
    cold.sent(piece(file, MIB), MIB)
    [job] = loop.jobs
    assert job.asked == (2 * MIB, AHEAD_FACTOR * MIB)
    cold.sent(piece(file, 2 * MIB), MIB)
    assert len(loop.jobs) == 1, "one job at a time"
    job.finish()
    assert told == [], "nobody waited for it"
    cold.sent(piece(file, 3 * MIB), MIB)
    assert len(loop.jobs) == 1, "there is enough for a while"


def test_who_catches_up_with_what_is_on_its_way_waits_for_it(loop: Loop) -> None:
    told: list[str] = []
    cold, file = slices(loop, told), File(cached=2 * MIB)
    cold.sent(piece(file, 0), MIB)
    cold.sent(piece(file, MIB), MIB)
    assert cold.must_wait(piece(file, 2 * MIB), MIB)
    assert len(loop.jobs) == 1
    loop.jobs[0].finish()
    assert told == ["there"]
    assert not cold.must_wait(piece(file, 2 * MIB), MIB)


def test_what_is_read_ahead_has_a_limit(loop: Loop) -> None:
    cold, file = slices(loop, []), File(cached=64 * MIB)
    cold.sent(piece(file, 0, 64 * MIB), 32 * MIB)
    cold.sent(piece(file, 32 * MIB, 32 * MIB), 32 * MIB)
    assert [job.asked for job in loop.jobs] == [(64 * MIB, AHEAD_BYTES_MAX)]


def test_where_the_kernel_cannot_tell_nobody_waits(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_slices, "_NOWAIT", 0)
    cold, file = slices(loop, []), File()
    assert not cold.must_wait(piece(file, 0), MIB)
    cold.sent(piece(file, 0), MIB)
    cold.sent(piece(file, MIB), MIB)
    assert loop.jobs == []


def test_when_a_connection_ends_its_job_is_dropped_and_nobody_is_told(loop: Loop) -> None:
    told: list[str] = []
    cold, file = slices(loop, told), File()
    assert cold.must_wait(piece(file, 0), MIB)
    cold.close()
    assert loop.jobs[0].cancelled
    loop.jobs[0].finish()
    assert told == []


def test_a_file_that_was_closed_and_opened_again_is_still_the_one_that_is_read(loop: Loop) -> None:
    cold = slices(loop, [])
    cold.sent(piece(File(cached=2 * MIB), 0), MIB)
    cold.sent(piece(File(cached=2 * MIB), MIB), MIB)
    assert len(loop.jobs) == 1


def cold_file(directory: Path, size: int) -> PosixFile:
    file = PosixDisk().open(f"{directory}/0.log", create=True)
    assert isinstance(file, PosixFile)
    file.write_at(0, [bytes(size)])
    file.sync()
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


@pytest.mark.skipif(not cold_slices._NOWAIT, reason="this system cannot tell what is in the page cache")
def test_a_thread_brings_in_the_whole_range(tmp_path: Path) -> None:
    """16 MiB, more than the kernel reads ahead by itself for the first of them."""
    file = cold_file(tmp_path, AHEAD_BYTES_MAX + 4 * MIB)
    if is_cached(file, 0):
        pytest.skip("this file system keeps its files in memory")
    start, stop = MIB + 1000, MIB + 1000 + AHEAD_BYTES_MAX
    assert not any(is_cached(file, position) for position in range(start, stop, MIB))
    bring_in(file, start, AHEAD_BYTES_MAX)
    assert all(is_cached(file, position) for position in [*range(start, stop, 4096), stop - 1])


@pytest.mark.skipif(not cold_slices._NOWAIT, reason="only Linux sends a file to nowhere")
def test_a_range_beyond_the_end_of_its_file_and_a_closed_file_end_the_job(tmp_path: Path) -> None:
    """The send that follows reports them."""
    file = cold_file(tmp_path, 1000)
    bring_in(file, 500, MIB)
    assert is_cached(file, 999)
    file.close()
    bring_in(file, 0, 1000)

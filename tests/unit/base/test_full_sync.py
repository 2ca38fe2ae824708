"""What makes a file durable: on macOS more than fsync, elsewhere fdatasync; and room for a file."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidelog.base.full_sync import best_allocate, best_sync, sync_directory, sync_fd

F_FULLFSYNC = 51


def system_with_full_sync(error: int | None = None) -> tuple[SimpleNamespace, list[tuple[int, int]]]:
    asked: list[tuple[int, int]] = []

    def fcntl(fd: int, command: int) -> int:
        asked.append((fd, command))
        if error is not None:
            raise OSError(error, os.strerror(error))
        return 0

    return SimpleNamespace(F_FULLFSYNC=F_FULLFSYNC, fcntl=fcntl), asked


def test_macos_goes_through_the_cache_of_the_drive() -> None:
    system, asked = system_with_full_sync()
    weaker: list[int] = []
    best_sync(weaker.append, system)(7)
    assert asked == [(7, F_FULLFSYNC)]
    assert not weaker


def test_a_file_system_without_it_gets_the_next_best() -> None:
    system, _ = system_with_full_sync(errno.ENOTSUP)
    weaker: list[int] = []
    best_sync(weaker.append, system)(7)
    assert weaker == [7]


def test_a_disk_that_fails_is_not_taken_for_a_file_system_without_it() -> None:
    system, _ = system_with_full_sync(errno.EIO)
    weaker: list[int] = []
    with pytest.raises(OSError):
        best_sync(weaker.append, system)(7)
    assert not weaker


def test_elsewhere_it_is_what_there_is() -> None:
    assert best_sync(os.fsync, SimpleNamespace()) is os.fsync


def test_room_where_nothing_can_be_reserved(tmp_path: Path) -> None:
    system = SimpleNamespace(fstat=os.fstat, ftruncate=os.ftruncate)
    path = tmp_path / "file"
    with path.open("wb") as file:
        best_allocate(system)(file.fileno(), 100)
        assert path.stat().st_size == 100
        best_allocate(system)(file.fileno(), 10)
        assert path.stat().st_size == 100, "never shorter: there may be records"


def test_this_system(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        sync_fd(file.fileno())
        best_allocate()(file.fileno(), 4096)
    assert (tmp_path / "file").stat().st_size == 4096
    sync_directory(str(tmp_path))

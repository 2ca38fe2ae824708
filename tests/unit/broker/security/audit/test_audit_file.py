import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.broker.security.audit.audit_file import AuditFile


def in_place(job: Callable[[], Any]) -> "asyncio.Future[Any]":
    """A disk thread whose jobs are done at once."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    try:
        done.set_result(job())
    except OSError as error:
        done.set_exception(error)
    return done


def audit_file(path: Path, bytes_max: int = 1_000, count: int = 2) -> AuditFile:
    return AuditFile(
        str(path),
        bytes_max=bytes_max,
        count=count,
        run_in_thread=in_place,
        line_of_dropped=lambda dropped: b"%d dropped\n" % dropped,
    )


def write(path: Path, *lines: bytes, bytes_max: int = 1_000, count: int = 2) -> None:
    async def writing() -> None:
        file = audit_file(path, bytes_max, count)
        for line in lines:
            file.write(line)
            await file.flush()
        await file.close()

    run(writing())


def test_lines_are_appended_and_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    write(path, b"first\n")
    write(path, b"second\n", b"third\n")
    assert path.read_bytes() == b"first\nsecond\nthird\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_file_is_renamed_and_the_oldest_deleted(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    write(path, *(b"line %d\n" % number for number in range(8)), bytes_max=14)
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "audit.log.1", tmp_path / "audit.log.2"]
    assert path.read_bytes() == b"line 6\nline 7\n"
    assert (tmp_path / "audit.log.2").read_bytes() == b"line 2\nline 3\n"


def test_a_full_disk_loses_no_line_and_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    real = os.write
    room = [9]

    def limited(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(fd, data[: room[0]])
        room[0] -= taken
        return taken

    async def writing() -> None:
        file = audit_file(path)
        monkeypatch.setattr(os, "write", limited)
        for number in range(3):
            file.write(b"line %d\n" % number)
            await file.flush()
        assert path.read_bytes() == b"line 0\n"
        room[0] = 1_000
        await file.flush()
        await file.close()

    run(writing())
    assert path.read_bytes() == b"line 0\nline 1\nline 2\n"
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_a_directory_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        audit_file(tmp_path / "missing" / "audit.log")

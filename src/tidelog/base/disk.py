"""The real disk behind the Disk port: positioned I/O on POSIX files."""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Sequence

from tidelog.base.errors import StorageError
from tidelog.base.full_sync import allocate_fd, sync_directory, sync_fd
from tidelog.base.ports import Buffer, Disk, File, Lock

IOV_MAX = 512  # below every platform's limit of buffers per pwritev


class PosixFile:
    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        if len(buffers) == 1:  # an append is one buffer: spare it the bookkeeping of many
            written = os.pwrite(self._fd, buffers[0], position)
            if written == len(buffers[0]):
                return written
        wanted = sum(map(len, buffers))
        done = 0
        for first in range(0, len(buffers), IOV_MAX):
            done += self._write_some(position + done, buffers[first : first + IOV_MAX])
        return wanted

    def _write_some(self, position: int, buffers: Sequence[Buffer]) -> int:
        wanted = sum(map(len, buffers))
        written = os.pwritev(self._fd, buffers, position)
        if written < wanted:  # a full disk writes what fits first and fails on the next call
            rest = memoryview(b"".join(buffers))
            while written < wanted:
                written += os.pwrite(self._fd, rest[written:], position + written)
        return wanted

    def read_at(self, position: int, length: int) -> bytes:
        data = os.pread(self._fd, length, position)
        if len(data) == length or not data:
            return data
        parts = [data]
        got = len(data)
        while got < length and (data := os.pread(self._fd, length - got, position + got)):
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    read_intact = read_at  # what is damaged shows by the CRC of its batch, to the client

    def write_again(self, position: int, length: int) -> None:
        self.write_at(position, [self.read_at(position, length)])

    def place(self, position: int) -> tuple[int, int]:
        return self._fd, position

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def truncate(self, length: int) -> None:
        os.ftruncate(self._fd, length)

    def allocate(self, length: int) -> None:
        allocate_fd(self._fd, length)

    def sync(self) -> None:
        sync_fd(self._fd)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class PosixLock:
    __slots__ = ("_file",)

    def __init__(self, file: PosixFile) -> None:
        self._file = file

    def release(self) -> None:
        self._file.close()  # the lock goes with the descriptor, also when the process is killed


class PosixDisk:
    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return PosixFile(path, os.open(path, flags, 0o644))

    def names(self, directory: str) -> list[str]:
        return sorted(os.listdir(directory))

    def is_dir(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)

    def remove_tree(self, path: str) -> None:
        if os.path.isdir(path):
            shutil.rmtree(path)

    def sync_dir(self, directory: str) -> None:
        sync_directory(directory)

    def free_bytes(self, directory: str) -> tuple[int, int]:
        found = os.statvfs(directory)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def check_writable(self, directory: str) -> None:
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), directory)

    def lock(self, path: str) -> Lock:
        file = PosixFile(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            directory = os.path.dirname(path)
            raise StorageError(
                f"{directory} is in use by another broker (its lock file {path} is held); "
                "stop that broker, or give this one another directory with --data"
            ) from error
        return PosixLock(file)


def _check(disk: PosixDisk) -> Disk:
    return disk  # mypy proves here that the real disk fills the port

"""A file from before its log dir was encrypted: read as it is, and encrypted before its first change.

So that no byte is written in the clear once encryption is on. The encrypted copy takes the place of the file
by a rename: a crash leaves the one or the other.
"""

from collections.abc import Callable, Sequence

from tidelog.base.ports import Buffer, File

COPY_BYTES = 1 << 20


class PlainFile:
    """`convert` returns the encrypted file that has taken the place of this one."""

    __slots__ = ("_convert", "_file", "_is_plain")

    def __init__(self, file: File, convert: Callable[[File, int], File]) -> None:
        self._file = file
        self._convert = convert
        self._is_plain = True

    @property
    def path(self) -> str:
        return self._file.path

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        self._encrypt(self._file.size())
        return self._file.write_at(position, buffers)

    def write_again(self, position: int, length: int) -> None:
        if self._is_plain:
            self._encrypt(self._file.size())  # the copy is synced
        else:
            self._file.write_again(position, length)

    def truncate(self, length: int) -> None:
        self._encrypt(length)
        self._file.truncate(length)

    def allocate(self, length: int) -> None:
        self._encrypt(self._file.size())
        self._file.allocate(length)

    def _encrypt(self, length: int) -> None:
        if self._is_plain:
            self._file = self._convert(self._file, min(length, self._file.size()))
            self._is_plain = False

    def read_at(self, position: int, length: int) -> bytes:
        return self._file.read_at(position, length)

    def read_intact(self, position: int, length: int) -> bytes:
        return self._file.read_intact(position, length)

    def place(self, position: int) -> tuple[int, int]:
        return self._file.place(position)

    def size(self) -> int:
        return self._file.size()

    def sync(self) -> None:
        self._file.sync()

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()

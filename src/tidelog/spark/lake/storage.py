"""A directory that holds a table: on this machine's disk, or behind a file system that Arrow knows.

Paths are relative to the directory, with slashes. A local file is synced before a commit may name it.
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import unquote, urlsplit

from tidelog.base.full_sync import sync_directory, sync_fd


class Storage(Protocol):
    def create(self, path: str) -> Any:
        """A file to write into, as a context; it is durable when the context ends well."""

    def read(self, path: str) -> bytes | None:
        """All of a file; None where there is none."""

    def write(self, path: str, data: bytes) -> None:
        """A small file as a whole, in place of the one that was there."""

    def write_first(self, path: str, data: bytes) -> bool:
        """The same, but only where there was none; says whether it was so."""

    def move(self, path: str, target: str) -> None: ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def delete(self, path: str) -> None:
        """Deletes a file, if it is still there."""

    def delete_directory(self, path: str) -> None: ...

    def files(self, directory: str) -> list[str]:
        """Every file at any depth below a directory; none where there is no such directory."""

    def directories(self, directory: str) -> list[str]:
        """The names of the directories directly below."""


def is_local(location: str) -> bool:
    return urlsplit(location).scheme in {"", "file"}


def local_path(location: str) -> Path:
    parts = urlsplit(location)
    return Path(unquote(parts.path) if parts.scheme == "file" else location)


class LocalStorage:
    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def create(self, path: str) -> Iterator[IO[bytes]]:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            yield file
            file.flush()
            sync_fd(file.fileno())

    def read(self, path: str) -> bytes | None:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        fresh = self._beside(path, data)
        fresh.replace(self._root / path)
        sync_directory(str(fresh.parent))

    def write_first(self, path: str, data: bytes) -> bool:
        fresh = self._beside(path, data)
        try:
            os.link(fresh, self._root / path)  # unlike a rename, a link never takes another's place
        except FileExistsError:
            return False
        finally:
            fresh.unlink()
        sync_directory(str(fresh.parent))
        return True

    def move(self, path: str, target: str) -> None:
        place = self._root / target
        place.parent.mkdir(parents=True, exist_ok=True)
        (self._root / path).replace(place)
        sync_directory(str(place.parent))

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()

    def size(self, path: str) -> int:
        return (self._root / path).stat().st_size

    def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)

    def delete_directory(self, path: str) -> None:
        shutil.rmtree(self._root / path, ignore_errors=True)

    def files(self, directory: str) -> list[str]:
        found = (self._root / directory).rglob("*")
        return sorted(path.relative_to(self._root).as_posix() for path in found if path.is_file())

    def directories(self, directory: str) -> list[str]:
        place = self._root / directory
        return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []

    def _beside(self, path: str, data: bytes) -> Path:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            sync_fd(file.fileno())
        return fresh


class ArrowStorage:
    """Object stores and the like: a file appears whole when it is closed, and replaces what was there."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")

    @contextmanager
    def create(self, path: str) -> Iterator[Any]:
        target = self._place(path)
        self._filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(target) as stream:
            yield stream

    def read(self, path: str) -> bytes | None:
        try:
            with self._filesystem.open_input_stream(self._place(path)) as stream:
                data: bytes = stream.read()
                return data
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as stream:
            stream.write(data)

    def write_first(self, path: str, data: bytes) -> bool:
        # Nothing stronger is offered by Arrow. Spark lets one driver at a time run a query, which suffices.
        if self.exists(path):
            return False
        self.write(path, data)
        return True

    def move(self, path: str, target: str) -> None:
        place = self._place(target)
        self._filesystem.create_dir(place.rpartition("/")[0], recursive=True)
        self._filesystem.move(self._place(path), place)

    def exists(self, path: str) -> bool:
        return bool(self._filesystem.get_file_info(self._place(path)).is_file)

    def size(self, path: str) -> int:
        return int(self._filesystem.get_file_info(self._place(path)).size)

    def delete(self, path: str) -> None:
        try:
            self._filesystem.delete_file(self._place(path))
        except FileNotFoundError:
            pass

    def delete_directory(self, path: str) -> None:
        self._filesystem.delete_dir_contents(self._place(path), missing_dir_ok=True)

    def files(self, directory: str) -> list[str]:
        return sorted(
            info.path[len(self._root) + 1 :] for info in self._below(directory, True) if info.is_file
        )

    def directories(self, directory: str) -> list[str]:
        return sorted(info.base_name for info in self._below(directory, False) if not info.is_file)

    def _below(self, directory: str, recursive: bool) -> Any:
        from pyarrow.fs import FileSelector

        chosen = FileSelector(self._place(directory), recursive=recursive, allow_not_found=True)
        return self._filesystem.get_file_info(chosen)

    def _place(self, path: str) -> str:
        return f"{self._root}/{path}"


def open_storage(location: str, table_format: str, properties: Mapping[str, str]) -> Storage:
    """The storage of a table, with the credentials that its format's own library would use."""
    if is_local(location):
        return LocalStorage(local_path(location))
    if table_format == "delta":
        from deltalake.fs import DeltaStorageHandler
        from pyarrow.fs import PyFileSystem

        # This file system knows the paths below the table only.
        return ArrowStorage(PyFileSystem(DeltaStorageHandler(location, dict(properties))), "")
    if table_format == "iceberg":
        from pyiceberg.io.pyarrow import PyArrowFileIO

        parts = urlsplit(location)
        files = PyArrowFileIO(dict(properties))
        return ArrowStorage(files.fs_by_scheme(parts.scheme, parts.netloc), parts.netloc + parts.path)
    from pyarrow.fs import FileSystem

    return ArrowStorage(*FileSystem.from_uri(location))

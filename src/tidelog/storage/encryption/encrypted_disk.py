"""A disk whose log dirs are encrypted, each or some of them: the twin of the disk that it stands on.

Below an encrypted log dir every file is encrypted but a few that hold no data of users. A log dir whose
keys are missing or wrong is out of reach: every operation on it raises OSError before it changes anything.
"""

from collections.abc import Mapping

from tidelog.base.ports import Disk, File, Lock
from tidelog.storage.encryption.data_keys import DataKeys, EncryptionKeyError
from tidelog.storage.encryption.encrypted_file import EncryptedFile, FileKeys
from tidelog.storage.encryption.layout import find_key
from tidelog.storage.encryption.plain_file import COPY_BYTES, PlainFile
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY
from tidelog.storage.log_dir.files import CLEAN_SHUTDOWN, ENCRYPTION_KEYS, LOCK, META

PLAIN_NAMES = frozenset({META, LOCK, CLEAN_SHUTDOWN, ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY})
"""Whose log dir it is, whether it was closed, and the wrapped keys: readable without a key."""
_TEMPORARY = ".tmp"


class EncryptedDisk:
    def __init__(self, disk: Disk, log_dirs: Mapping[str, DataKeys | EncryptionKeyError]) -> None:
        """`log_dirs`: the encrypted ones with their keys, or why these cannot be had."""
        self._disk = disk
        self._log_dirs = {path.rstrip("/"): keys for path, keys in log_dirs.items()}
        self._keys = {
            path: FileKeys(keys.cipher, keys.fresh)
            for path, keys in self._log_dirs.items()
            if isinstance(keys, DataKeys)
        }

    def _keys_for(self, path: str) -> FileKeys | None:
        """None for a file that stays plain; raises EncryptionKeyError for one in a log dir without keys."""
        for log_dir, keys in self._log_dirs.items():
            if path.startswith(log_dir) and (len(path) == len(log_dir) or path[len(log_dir)] == "/"):
                if isinstance(keys, EncryptionKeyError):
                    raise EncryptionKeyError(str(keys))
                name = path[len(log_dir) + 1 :].removesuffix(_TEMPORARY)
                return None if name in PLAIN_NAMES else self._keys[log_dir]
        return None

    # Files

    def open(self, path: str, *, create: bool = False) -> File:
        keys = self._keys_for(path)
        raw = self._disk.open(path, create=create)
        return raw if keys is None else self._wrap(raw, keys)

    def _wrap(self, raw: File, keys: FileKeys) -> File:
        try:
            key = find_key(raw)
            if key is not None or not raw.size():
                return EncryptedFile(raw, keys, key)  # a missing key shows now, before anything is read
        except BaseException:
            raw.close()
            raise
        return PlainFile(raw, lambda plain, length: self._convert(plain, length, keys))

    def _convert(self, plain: File, length: int, keys: FileKeys) -> File:
        """Only the one writer that a file has gets here."""
        path = plain.path
        copy = EncryptedFile(self._disk.open(path + _TEMPORARY, create=True), keys, None)
        self._replace(path, plain, copy, length)
        return self._wrap(self._disk.open(path), keys)

    def _replace(self, path: str, source: File, copy: File, length: int) -> None:
        """Put a copy in the place of a file: a crash leaves the one or the other."""
        try:
            copy.truncate(0)
            for position in range(0, length, COPY_BYTES):
                copy.write_at(position, [source.read_intact(position, min(COPY_BYTES, length - position))])
            copy.sync()
        finally:
            copy.close()
        self._disk.rename(copy.path, path)
        self._disk.sync_dir(path.rpartition("/")[0] or "/")

    def encrypt(self, path: str) -> bool:
        """A file that is plain and should not be; False where there is nothing to do."""
        keys = self._keys_for(path)
        if keys is None or not self._disk.size(path):
            return False
        plain = self._disk.open(path)
        try:
            if find_key(plain) is not None:
                return False
            self._convert(plain, plain.size(), keys).close()
        finally:
            plain.close()
        return True

    def decrypt(self, path: str) -> bool:
        """Make an encrypted file plain; False where it is. OSError if a byte of it is damaged."""
        keys = self._keys_for(path)
        if keys is None:
            return False
        raw = self._disk.open(path)
        try:
            key = find_key(raw)
            if key is None:
                return False
            encrypted = EncryptedFile(raw, keys, key)
            self._replace(path, encrypted, self._disk.open(path + _TEMPORARY, create=True), encrypted.size())
        finally:
            raw.close()
        return True

    def size(self, path: str) -> int:
        keys = self._keys_for(path)
        size = self._disk.size(path)
        if keys is None or not size:
            return size
        file = self.open(path)
        try:
            return file.size()
        finally:
            file.close()

    # All else is as on the disk below, once the keys are there.

    def names(self, directory: str) -> list[str]:
        self._keys_for(directory)
        return self._disk.names(directory)

    def is_dir(self, path: str) -> bool:
        self._keys_for(path)
        return self._disk.is_dir(path)

    def exists(self, path: str) -> bool:
        self._keys_for(path)
        return self._disk.exists(path)

    def make_dirs(self, path: str) -> None:
        self._keys_for(path)
        self._disk.make_dirs(path)

    def rename(self, source: str, target: str) -> None:
        self._keys_for(source)
        self._disk.rename(source, target)

    def remove(self, path: str) -> None:
        self._keys_for(path)
        self._disk.remove(path)

    def remove_tree(self, path: str) -> None:
        self._keys_for(path)
        self._disk.remove_tree(path)

    def sync_dir(self, directory: str) -> None:
        self._keys_for(directory)
        self._disk.sync_dir(directory)

    def free_bytes(self, directory: str) -> tuple[int, int]:
        return self._disk.free_bytes(directory)

    def check_writable(self, directory: str) -> None:
        self._disk.check_writable(directory)

    def lock(self, path: str) -> Lock:
        self._keys_for(path)
        return self._disk.lock(path)


def _check(disk: EncryptedDisk) -> Disk:
    return disk  # mypy proves here that the encrypted disk fills the port

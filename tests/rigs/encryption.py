"""An encrypted disk over another one, with keys that a test holds."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidelog.base.ports import Disk, File
from tidelog.storage.encryption.data_keys import KEY_BYTES, DataKeys, EncryptionKeyError, StoredKey, Wrapped
from tidelog.storage.encryption.encrypted_disk import EncryptedDisk
from tidelog.storage.encryption.layout import BLOCK_BYTES, CELL_HEADER_BYTES, find_key, read_cells
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

NONCE = bytes(12)


class FixedKey:
    """One key encryption key by name; another name or secret is a wrong key."""

    def __init__(
        self, name: str = "first", secret: bytes = b"k" * 32, others: dict[str, bytes] | None = None
    ) -> None:
        self.current: str | None = name
        self._name = name
        self._secrets = {name: secret, **(others or {})}

    def wrap(self, key: bytes) -> Wrapped:
        return Wrapped(self._name, AESGCM(self._secrets[self._name]).encrypt(NONCE, key, None))

    def unwrap(self, wrapped: Wrapped) -> bytes:
        try:
            return AESGCM(self._secrets[wrapped.kek_id]).decrypt(NONCE, wrapped.data, None)
        except (KeyError, InvalidTag) as error:
            raise EncryptionKeyError(f"no key {wrapped.kek_id}") from error


def encrypted(disk: Disk, log_dir: str = "/data", wrapping: FixedKey | None = None) -> EncryptedDisk:
    """The log dir is encrypted from now on."""
    disk.make_dirs(log_dir)
    return EncryptedDisk(disk, {log_dir: DataKeys.open(disk, log_dir, wrapping or FixedKey())})


class EncryptedMemoryDisk(MemoryDisk):
    """A disk in memory, with all of its faults, whose files are encrypted.

    `flip_bit` takes the position of a plain byte; `flip_raw_bit` that of a byte as it lies on the disk.
    """

    def __init__(self, seed: int = 0, *, capacity_bytes: int | None = None) -> None:
        super().__init__(seed, capacity_bytes=capacity_bytes)
        key = b"d" * KEY_BYTES
        stored = StoredKey(b"data key", FixedKey().wrap(key), b"")
        keys = DataKeys("/encryption.keys", [stored], {stored.id: key})
        self._encrypted = EncryptedDisk(_Below(self), {"/": keys})

    def open(self, path: str, *, create: bool = False) -> File:
        return self._encrypted.open(path, create=create)

    def size(self, path: str) -> int:
        return self._encrypted.size(path)

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        raw = self.open_raw(path)
        if find_key(raw) is None:
            return super().flip_bit(path, position, bit)
        content = raw.read_at(0, raw.size())
        if position < 0:
            position += self.size(path)
        for block in range(0, (len(content) - 1) // BLOCK_BYTES + 1):
            for cell in read_cells(content[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES], block):
                if cell.start <= position < cell.stop:
                    at = cell.position + CELL_HEADER_BYTES + position - cell.start
        super().flip_bit(path, at, bit)

    def flip_raw_bit(self, path: str, position: int, bit: int = 0) -> None:
        super().flip_bit(path, position, bit)

    def open_raw(self, path: str, *, create: bool = False) -> File:
        return super().open(path, create=create)

    def raw_size(self, path: str) -> int:
        return super().size(path)


class _Below(MemoryDisk):
    """The same disk without encryption."""

    def __init__(self, disk: EncryptedMemoryDisk) -> None:
        self._above = disk

    def open(self, path: str, *, create: bool = False) -> File:
        return self._above.open_raw(path, create=create)

    def size(self, path: str) -> int:
        return self._above.raw_size(path)

    def rename(self, source: str, target: str) -> None:
        self._above.rename(source, target)

    def sync_dir(self, directory: str) -> None:
        self._above.sync_dir(directory)

"""The data keys of a log dir, each wrapped by a key encryption key: the file `encryption.keys` in it.

Every encrypted file derives a key of its own from a data key. Only this small file is written anew when
the key encryption key is another one; the encrypted files stay as they are. A second copy of it lies
beside it: without the data keys, nothing in the log dir can be read again.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from crc32c import crc32c
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidelog.base.ports import Disk, read_file, replace_file
from tidelog.storage.encryption.layout import FileKeyId
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY as KEYS_COPY
from tidelog.storage.log_dir.encryption_marks import encryption_mark
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS as KEYS

KEY_BYTES = 32
KEY_ID_BYTES = 8
SALT_BYTES = 16

_CHECKSUM = b"# crc32c "
_VERSION = 1

RandomBytes = Callable[[int], bytes]


class EncryptionKeyError(OSError):
    """A key is missing or wrong. An OSError: the log dir is out of reach, and nothing in it may change."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class Wrapped(NamedTuple):
    kek_id: str
    """Names the key encryption key."""
    data: bytes


class KeyWrapping(Protocol):
    """The holder of the key encryption keys: a key file, or a key management service."""

    @property
    def current(self) -> str | None:
        """The id of the key that wraps now; None where only the holder knows it."""
        ...

    def wrap(self, key: bytes) -> Wrapped:
        """Under the current key. Raises EncryptionKeyError."""
        ...

    def unwrap(self, wrapped: Wrapped) -> bytes:
        """Raises EncryptionKeyError if the key encryption key is missing or is not the right one."""
        ...


@dataclass(frozen=True, slots=True)
class StoredKey:
    id: bytes
    wrapped: Wrapped
    check: bytes
    """Tells a key that was unwrapped from any other, whatever the holder of the keys promises."""


class DataKeys:
    """The data keys of one log dir, unwrapped; the last one is for new files."""

    def __init__(self, path: str, stored: list[StoredKey], keys: dict[bytes, bytes]) -> None:
        self.path = path
        self.stored = stored
        self._keys = keys
        self._current = stored[-1].id

    @classmethod
    def open(
        cls, disk: Disk, log_dir: str, wrapping: KeyWrapping, random: RandomBytes = os.urandom
    ) -> "DataKeys":
        """Unwrap the data keys of a log dir. One that has none gets its first."""
        stored = read_stored(disk, log_dir)
        if stored is None:
            mark = encryption_mark(disk, log_dir)
            if mark is not None:
                raise EncryptionKeyError(
                    f"{log_dir} is encrypted (see {mark}), but its data keys are gone: there is no {KEYS}. "
                    "Restore that file from a backup; nothing was changed"
                )
            key = random(KEY_BYTES)
            stored = [_store(wrapping, key, random)]
            write_stored(disk, log_dir, stored)
            return cls(f"{log_dir}/{KEYS}", stored, {stored[0].id: key})
        return cls(f"{log_dir}/{KEYS}", stored, {one.id: _unwrap(wrapping, one, log_dir) for one in stored})

    @property
    def kek_ids(self) -> list[str]:
        return [one.wrapped.kek_id for one in self.stored]

    def needs_rewrap(self, wrapping: KeyWrapping) -> bool:
        return wrapping.current is not None and any(one != wrapping.current for one in self.kek_ids)

    def rewrap(
        self, disk: Disk, log_dir: str, wrapping: KeyWrapping, *, random: RandomBytes = os.urandom
    ) -> "DataKeys":
        """Wrap every data key under the current key encryption key; new files get a new data key."""
        stored = [StoredKey(one.id, _wrap(wrapping, self._keys[one.id]), one.check) for one in self.stored]
        key = random(KEY_BYTES)
        stored.append(_store(wrapping, key, random))
        write_stored(disk, log_dir, stored)
        return DataKeys(self.path, stored, self._keys | {stored[-1].id: key})

    def fresh(self) -> FileKeyId:
        return FileKeyId(self._current, os.urandom(SALT_BYTES))

    def cipher(self, key: FileKeyId, path: str) -> AESGCM:
        data_key = self._keys.get(key.data_key)
        if data_key is None:
            raise EncryptionKeyError(
                f"{path} is encrypted with the data key {key.data_key.hex()}, which {self.path} does not "
                f"hold. Restore the {KEYS} that belongs to this log dir from a backup; nothing was changed"
            )
        return AESGCM(_derive(data_key, key.salt))


def read_stored(disk: Disk, log_dir: str) -> list[StoredKey] | None:
    """From the file, or its copy if that is damaged; None if there is neither."""
    problems = []
    for name in (KEYS, KEYS_COPY):
        raw = read_file(disk, f"{log_dir}/{name}")
        if raw is None:
            continue
        try:
            return _parse(raw)
        except ValueError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise EncryptionKeyError(
            f"the data keys of {log_dir} are damaged ({'; '.join(problems)}). Restore {KEYS} from a backup; "
            "nothing was changed"
        )
    return None


def repair_copies(disk: Disk, log_dir: str, stored: list[StoredKey]) -> bool:
    """Write both files anew if one is damaged, lost, or older than the other; False if there is no need."""
    found = [read_file(disk, f"{log_dir}/{name}") for name in (KEYS, KEYS_COPY)]
    if found[0] == found[1]:
        return False
    write_stored(disk, log_dir, stored)
    return True


def write_stored(disk: Disk, log_dir: str, stored: list[StoredKey]) -> None:
    """One after the other, so that a crash harms at most one of them."""
    document = {
        "version": _VERSION,
        "keys": [
            {
                "id": one.id.hex(),
                "kek": one.wrapped.kek_id,
                "wrapped": base64.b64encode(one.wrapped.data).decode(),
                "check": one.check.hex(),
            }
            for one in stored
        ],
    }
    content = json.dumps(document, indent=1).encode() + b"\n"
    raw = content + _CHECKSUM + b"%08x\n" % crc32c(content)
    replace_file(disk, f"{log_dir}/{KEYS}", raw)
    replace_file(disk, f"{log_dir}/{KEYS_COPY}", raw)


def _parse(raw: bytes) -> list[StoredKey]:
    content, found, checksum = raw.rpartition(_CHECKSUM)
    if not found or checksum != b"%08x\n" % crc32c(content):
        raise ValueError("its checksum does not fit its content")
    document: Any = json.loads(content)
    if document.get("version") != _VERSION or not document.get("keys"):
        raise ValueError(f"version {document.get('version')}, or no keys")
    return [
        StoredKey(
            bytes.fromhex(one["id"]),
            Wrapped(one["kek"], base64.b64decode(one["wrapped"])),
            bytes.fromhex(one["check"]),
        )
        for one in document["keys"]
    ]


def _store(wrapping: KeyWrapping, key: bytes, random: RandomBytes) -> StoredKey:
    # A random id: a file of another log dir, or of lost keys, is told from damage by it.
    return StoredKey(random(KEY_ID_BYTES), _wrap(wrapping, key), _check_of(key))


def _wrap(wrapping: KeyWrapping, key: bytes) -> Wrapped:
    """Unwrapped once before it counts: a key that cannot be had back costs all that it encrypts."""
    wrapped = wrapping.wrap(key)
    if not hmac.compare_digest(wrapping.unwrap(wrapped), key):
        raise EncryptionKeyError(
            f"the key {wrapped.kek_id!r} wrapped a data key and does not unwrap it to the same bytes; see to "
            "the holder of the keys. Nothing was changed"
        )
    return wrapped


def _unwrap(wrapping: KeyWrapping, stored: StoredKey, log_dir: str) -> bytes:
    try:
        key = wrapping.unwrap(stored.wrapped)
    except EncryptionKeyError as error:
        raise EncryptionKeyError(f"the data keys of {log_dir} cannot be unwrapped: {error}") from error
    if len(key) != KEY_BYTES or not hmac.compare_digest(_check_of(key), stored.check):
        raise EncryptionKeyError(
            f"the data keys of {log_dir} were wrapped by another key than the one that is called "
            f"{stored.wrapped.kek_id!r} here; give the broker the right key. Nothing was changed"
        )
    return key


def _check_of(key: bytes) -> bytes:
    return hmac.digest(key, b"tidelog data key", "sha256")[:8]


def _derive(data_key: bytes, salt: bytes) -> bytes:
    """HKDF with SHA-256, for one block of output (RFC 5869)."""
    extracted = hmac.digest(salt, data_key, "sha256")
    return hmac.new(extracted, b"tidelog file\x01", hashlib.sha256).digest()

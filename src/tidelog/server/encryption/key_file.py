"""Key encryption keys in a file that only its owner may read.

A line for each key: its id, and 32 random bytes in base64. The first key wraps; the others unwrap what was
wrapped before. Empty lines and lines that begin with # do not count.
"""

import base64
import binascii
import os
import re
import stat
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tidelog.base.full_sync import sync_directory
from tidelog.storage.encryption.data_keys import KEY_BYTES, EncryptionKeyError, Wrapped

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NONCE_BYTES = 12


class KeyFile:
    def __init__(self, path: str, keys: dict[str, bytes]) -> None:
        self._path = path
        self._keys = keys
        self._current = next(iter(keys))

    @classmethod
    def read(cls, path: str) -> "KeyFile":
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EncryptionKeyError(
                f"the key file {path} cannot be read: {error.strerror}. tidelog log new-key {path} makes a "
                "new one; what is encrypted already needs the key file that it was encrypted with"
            ) from error
        with os.fdopen(fd, "rb") as file:
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if mode & 0o077:
                raise EncryptionKeyError(
                    f"the key file {path} may be read or written by others than its owner (mode "
                    f"{mode:04o}); chmod 600 {path}"
                )
            return cls(path, _parse(path, file.read()))

    @property
    def current(self) -> str | None:
        return self._current

    def wrap(self, key: bytes) -> Wrapped:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = AESGCM(self._keys[self._current]).encrypt(nonce, key, self._current.encode())
        return Wrapped(self._current, nonce + sealed)

    def unwrap(self, wrapped: Wrapped) -> bytes:
        kek_id, data = wrapped
        secret = self._keys.get(kek_id)
        if secret is None:
            raise EncryptionKeyError(
                f"they need the key {kek_id!r}, which {self._path} does not hold; it holds "
                f"{', '.join(self._keys)}. Put the line of that key back into the file; nothing was changed"
            )
        try:
            return AESGCM(secret).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], kek_id.encode())
        except InvalidTag as error:
            raise EncryptionKeyError(
                f"the key {kek_id!r} of {self._path} is not the one that wrapped them; give the broker the "
                "right key file. Nothing was changed"
            ) from error


def add_key(path: str, kek_id: str, key: bytes) -> None:
    """Put a new key in front of the others; a file that does not exist is made, for its owner alone."""
    if not _ID.fullmatch(kek_id):
        raise EncryptionKeyError(
            f"{kek_id!r} cannot be the id of a key: letters, digits, dots, dashes and underscores, up to 64"
        )
    old = b""
    if os.path.exists(path):
        if kek_id in KeyFile.read(path)._keys:
            raise EncryptionKeyError(f"{path} holds a key {kek_id!r} already; choose another id with --id")
        with open(path, "rb") as file:
            old = file.read()
    line = f"{kek_id} {base64.b64encode(key).decode()}\n".encode()
    temporary = path + ".tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # what another process left there may be readable by all, or lead elsewhere
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(line + old)
        file.flush()
        os.fsync(fd)
    os.replace(temporary, path)
    sync_directory(os.path.dirname(os.path.abspath(path)))


def _parse(path: str, raw: bytes) -> dict[str, bytes]:
    """What is wrong is named by its line: the content of a key file must not be in any message."""
    keys: dict[str, bytes] = {}
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        try:
            key = base64.b64decode(words[1], validate=True) if len(words) == 2 else b""
        except binascii.Error:
            key = b""
        if len(key) != KEY_BYTES or not _ID.fullmatch(words[0]):
            raise EncryptionKeyError(
                f"line {number} of the key file {path} is not an id and a key of {KEY_BYTES} bytes in base64"
            )
        if words[0] in keys:
            raise EncryptionKeyError(f"line {number} of the key file {path} repeats the id {words[0]!r}")
        keys[words[0]] = key
    if not keys:
        raise EncryptionKeyError(f"the key file {path} holds no key; tidelog log new-key {path} adds one")
    return keys

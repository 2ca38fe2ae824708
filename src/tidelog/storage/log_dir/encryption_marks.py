"""How an encrypted log dir is recognized without its keys, and with nothing of encryption imported.

Its files must never pass for damaged plain ones: recovery would truncate what is only encrypted.
"""

from contextlib import suppress

from tidelog.base.ports import Disk
from tidelog.storage.file_names import PARTITION_METADATA
from tidelog.storage.log_dir.files import (
    CLEANER_OFFSETS,
    ENCRYPTION_KEYS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
)

ENCRYPTION_KEYS_COPY = f"{ENCRYPTION_KEYS}.copy"
ENCRYPTED_MAGIC = b"\x89TE1"
"""The first bytes of every encrypted file."""

_CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANER_OFFSETS)


def encryption_mark(disk: Disk, log_dir: str) -> str | None:
    """The file by which a log dir shows that it is encrypted: wrapped keys, or an encrypted file where those
    were lost. None for a plain or a new log dir."""
    for name in (ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY):
        if disk.exists(f"{log_dir}/{name}"):
            return name
    with suppress(OSError):  # a disk that cannot be read shows that soon enough
        for name in _CHECKPOINTS:
            if _is_encrypted(disk, f"{log_dir}/{name}"):
                return name
        for directory in disk.names(log_dir) if disk.is_dir(log_dir) else ():
            name = f"{directory}/{PARTITION_METADATA}"
            if disk.exists(f"{log_dir}/{name}"):  # that of the first partition is enough
                return name if _is_encrypted(disk, f"{log_dir}/{name}") else None
    return None


def _is_encrypted(disk: Disk, path: str) -> bool:
    if not disk.exists(path):
        return False
    file = disk.open(path)
    try:
        return file.read_at(0, len(ENCRYPTED_MAGIC)) == ENCRYPTED_MAGIC
    finally:
        file.close()

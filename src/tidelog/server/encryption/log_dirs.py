"""Opens the keys of encrypted log dirs at a start, and the disk that uses them.

A log dir whose keys cannot be had is out of reach, and its files stay as they are; the others go on.
"""

import logging
from collections.abc import Sequence
from typing import Protocol

from tidelog.base.ports import Disk, make_directory
from tidelog.server.encryption.key_file import KeyFile
from tidelog.server.encryption.kms import KmsCommand, KmsWrapping, load_kms
from tidelog.storage.encryption.data_keys import DataKeys, EncryptionKeyError, KeyWrapping, repair_copies
from tidelog.storage.encryption.encrypted_disk import EncryptedDisk
from tidelog.storage.log_dir.encryption_marks import encryption_mark
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS, LOCK

log = logging.getLogger("tidelog.encryption")


class Values(Protocol):
    def optional_text(self, name: str) -> str | None: ...

    def int(self, name: str) -> int: ...


def key_holder(config: Values) -> KeyWrapping:
    """The key file or the key management service that the settings name."""
    prefix = "log.dirs.encryption"
    path = config.optional_text(f"{prefix}.key.file")
    if path is not None:
        return KeyFile.read(path)
    command = config.optional_text(f"{prefix}.kms.command")
    if command is not None:
        seconds = config.int(f"{prefix}.kms.timeout.ms") / 1000
        return KmsWrapping(KmsCommand(command, seconds), f"{prefix}.kms.command")
    name = config.optional_text(f"{prefix}.kms.class")
    if name is None:
        raise EncryptionKeyError(f"{prefix}.key.file is not set, so there is no key")
    return KmsWrapping(load_kms(name), name)


def encrypted_disk(
    disk: Disk, log_dirs: Sequence[str], encrypted: Sequence[str], config: Values
) -> EncryptedDisk:
    """`encrypted`: which of the log dirs the settings name."""
    found: dict[str, DataKeys | EncryptionKeyError] = {}
    holder: KeyWrapping | None = None
    for path in log_dirs:
        if path in encrypted:
            try:
                holder = holder or key_holder(config)
                found[path] = open_keys(disk, path, holder)
            except EncryptionKeyError as error:
                found[path] = error
            except OSError as error:
                found[path] = EncryptionKeyError(
                    f"the data keys of {path} cannot be read or written: {error}"
                )
        elif (mark := encryption_mark(disk, path)) is not None:
            found[path] = EncryptionKeyError(
                f"{path} is encrypted (see {mark}), but log.dirs.encryption does not name "
                f"it. Name it there; or, to give up encryption, run tidelog log decrypt {path}"
            )
    return EncryptedDisk(disk, found)


def open_keys(disk: Disk, path: str, holder: KeyWrapping) -> DataKeys:
    """Of one log dir, while no other process uses it. After a change of the key encryption key, the data
    keys are wrapped anew."""
    make_directory(disk, path)
    lock = disk.lock(f"{path}/{LOCK}")
    try:
        keys = DataKeys.open(disk, path, holder)
        if keys.needs_rewrap(holder):
            before = ", ".join(dict.fromkeys(keys.kek_ids))
            keys = keys.rewrap(disk, path, holder)
            log.info("%s: the data keys are wrapped by %s now, no longer by %s", path, holder.current, before)
        _repair(disk, path, keys)
        return keys
    finally:
        lock.release()


def _repair(disk: Disk, path: str, keys: DataKeys) -> None:
    """The second copy helps only as long as it is whole. A full disk must not keep a broker from starting."""
    try:
        if repair_copies(disk, path, keys.stored):
            log.warning(
                "%s: a copy of %s was lost, damaged or old; both are whole again", path, ENCRYPTION_KEYS
            )
    except OSError as error:
        log.warning("%s: only one copy of %s is whole: %s", path, ENCRYPTION_KEYS, error)

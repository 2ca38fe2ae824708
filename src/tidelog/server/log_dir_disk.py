"""The disk of a broker's log dirs: as it is, or with keys where a log dir is encrypted."""

from collections.abc import Sequence

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import StorageError
from tidelog.base.log_dir_encryption import encrypted_among
from tidelog.base.ports import Disk
from tidelog.storage.log_dir.encryption_marks import encryption_mark


def disk_with_keys(disk: Disk, log_dirs: Sequence[str], config: BrokerConfig) -> Disk:
    """The disk itself, unless a log dir is encrypted: only then is anything of encryption imported."""
    given = dict(zip(config.list("log.dirs"), log_dirs, strict=True))
    encrypted = [given[path] for path in encrypted_among(list(given), config.list("log.dirs.encryption"))]
    if not encrypted and not any(encryption_mark(disk, path) for path in log_dirs):
        return disk
    try:
        from tidelog.server.encryption.log_dirs import encrypted_disk
    except ImportError as error:
        raise StorageError(
            f"encrypted log dirs need the package cryptography ({error}); pip install 'tidelog[secure]'"
        ) from error
    return encrypted_disk(disk, log_dirs, encrypted, config)

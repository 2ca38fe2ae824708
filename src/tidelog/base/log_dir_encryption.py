"""Which log dirs are encrypted, by the setting `log.dirs.encryption`."""

from collections.abc import Sequence

ALL_LOG_DIRS = "all"
KEY_HOLDERS = (
    "log.dirs.encryption.key.file",
    "log.dirs.encryption.kms.command",
    "log.dirs.encryption.kms.class",
)
"""The settings that name a holder of the key encryption keys; a broker has one."""


def encrypted_among(log_dirs: Sequence[str], named: Sequence[str]) -> list[str]:
    """The log dirs that `log.dirs.encryption` names, as paths or with one word."""
    return [path for path in log_dirs if ALL_LOG_DIRS in named or path in named]

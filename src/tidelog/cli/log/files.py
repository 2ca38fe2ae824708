"""How the tools open the files of a log dir: for reading only, and through its keys where it is encrypted.

The options for keys hold for one command; a file that is encrypted, met without them, is an error that names
them. Nothing of encryption is imported before such a file is met.
"""

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidelog.base.disk import PosixDisk, PosixFile
from tidelog.base.ports import Disk, File
from tidelog.cli.exits import CliError, Exit
from tidelog.storage.encryption.layout import find_key
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY, encryption_mark
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS

if TYPE_CHECKING:
    from tidelog.storage.encryption.data_keys import DataKeys, KeyWrapping

Command = TypeVar("Command", bound=Callable[..., Any])
_KMS_SECONDS = 30.0
NO_EXTRA = "pip install 'tidelog[secure]'"


class KeyOptions:
    """What the options of a command say about keys."""

    def __init__(self, key_file: str | None = None, kms_command: str | None = None) -> None:
        self._key_file = key_file
        self._kms_command = kms_command
        self._opened: dict[str, DataKeys] = {}

    def holder(self, encrypted: str) -> "KeyWrapping":
        """`encrypted`: what needs a key, for the error where none was given."""
        if self._key_file is None and self._kms_command is None:
            raise CliError(
                f"{encrypted} is encrypted, and no key was given.",
                cause="its log dir is one that log.dirs.encryption names.",
                attempt="the same command with --key-file FILE, or with --kms-command COMMAND",
                code=Exit.USAGE,
            )
        from tidelog.server.encryption.key_file import KeyFile
        from tidelog.server.encryption.kms import KmsCommand, KmsWrapping

        with key_errors():
            if self._key_file is not None:
                return KeyFile.read(self._key_file)
            return KmsWrapping(KmsCommand(self._kms_command or "", _KMS_SECONDS), "--kms-command")

    def keys(self, path: str) -> "DataKeys":
        """The data keys of the log dir that the file at `path` is in."""
        directory = os.path.dirname(os.path.abspath(path))
        for log_dir in (directory, os.path.dirname(directory)):
            if any(os.path.exists(f"{log_dir}/{name}") for name in (ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY)):
                break
        else:
            raise CliError(
                f"{path} is encrypted, and there is no {ENCRYPTION_KEYS} in its log dir.",
                cause="the file was copied without the wrapped keys of its log dir.",
                attempt=f"put {ENCRYPTION_KEYS} into the same directory, or into the one above it",
                code=Exit.NOT_FOUND,
            )
        if log_dir not in self._opened:
            holder = self.holder(path)
            from tidelog.storage.encryption.data_keys import DataKeys

            with key_errors():
                self._opened[log_dir] = DataKeys.open(PosixDisk(), log_dir, holder)
        return self._opened[log_dir]


class key_errors:  # reads as a statement
    """A key that is missing or wrong is shown to a person, without a traceback."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        from tidelog.storage.encryption.data_keys import EncryptionKeyError

        if isinstance(error, EncryptionKeyError):
            raise CliError(f"{error}.", code=Exit.DENIED) from error


def needs_cryptography(command: Command) -> Command:
    """An installation without the extra for security is told what is missing, without a traceback."""

    @wraps(command)
    def explained(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "cryptography":
                raise
            raise CliError(
                "Encrypted log dirs need the Python package 'cryptography'.",
                cause="Tidelog was installed without its extra for security.",
                attempt=NO_EXTRA,
            ) from error

    return explained  # type: ignore[return-value]


_given: ContextVar[KeyOptions] = ContextVar("key options")


def key_options(command: Command) -> Command:
    """Adds the options for keys; the command itself does not see them."""

    @click.option(
        "--key-file", metavar="FILE", type=click.Path(), help="The key file, for an encrypted log dir."
    )
    @click.option(
        "--kms-command", metavar="COMMAND", help="The command that unwraps keys, for an encrypted log dir."
    )
    @wraps(command)
    def with_keys(*args: Any, key_file: str | None, kms_command: str | None, **options: Any) -> Any:
        token = _given.set(KeyOptions(key_file, kms_command))
        try:
            return needs_cryptography(command)(*args, **options)
        finally:
            _given.reset(token)

    return with_keys  # type: ignore[return-value]


def given_keys() -> KeyOptions:
    return _given.get(KeyOptions())


def open_read_only(path: str) -> File:
    raw = PosixFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    key = find_key(raw)
    if key is None:
        return raw
    keys = given_keys().keys(path)
    from tidelog.storage.encryption.encrypted_file import EncryptedFile, FileKeys

    with key_errors():
        return EncryptedFile(raw, FileKeys(keys.cipher, keys.fresh), key)


def read_bytes(path: str) -> bytes:
    """The whole of a small file."""
    file = open_read_only(path)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def disk_of(log_dir: str) -> Disk:
    """The disk on which the files of a log dir can be read."""
    if encryption_mark(PosixDisk(), log_dir) is None:
        return PosixDisk()
    given_keys().holder(log_dir)  # without one, the log dir is what the error names
    keys = given_keys().keys(f"{log_dir}/{ENCRYPTION_KEYS}")
    from tidelog.storage.encryption.encrypted_disk import EncryptedDisk

    return EncryptedDisk(PosixDisk(), {log_dir: keys})

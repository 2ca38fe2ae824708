"""`tidelog log new-key`, `rekey`, `encrypt`, `decrypt`: keys of encrypted log dirs, of stopped brokers."""

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import StorageError
from tidelog.base.units import size_text
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.log.core_dirs import DIRECTORY, core_dirs
from tidelog.cli.log.files import given_keys, key_errors, key_options, needs_cryptography
from tidelog.cli.output import print_json_line
from tidelog.cli.session import Session, json_option, pass_session
from tidelog.storage.log_dir.encryption_marks import ENCRYPTION_KEYS_COPY, encryption_mark
from tidelog.storage.log_dir.files import ENCRYPTION_KEYS, LOCK, META

if TYPE_CHECKING:
    from tidelog.storage.encryption.encrypted_disk import EncryptedDisk

TELL_SECONDS = 0.5


@click.command("new-key")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--id", "kek_id", metavar="ID", help="The name of the key. Default: the date and a random end.")
@json_option
@pass_session
@needs_cryptography
def new_key(session: Session, file: str, kek_id: str | None) -> int:
    """Add a new key encryption key to a key file, in front of the others.

    Makes the file where there is none, readable by its owner alone. Data keys that older keys wrapped are
    wrapped by the new one at the next start of the broker, or by tidelog log rekey. Until then the older keys
    must stay in the file.

    \b
    tidelog log new-key /etc/tidelog/log.keys
    """
    from tidelog.server.encryption.key_file import add_key
    from tidelog.storage.encryption.data_keys import KEY_BYTES

    kek_id = kek_id or f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(3)}"
    with key_errors(), _file_errors(file):
        add_key(file, kek_id, secrets.token_bytes(KEY_BYTES))
    if session.json:
        print_json_line({"file": file, "id": kek_id})
    else:
        print(f"{file}: the key {kek_id} comes first now. Keep a copy of the file where the data is not:")
        print("without it, what is encrypted can never be read again.")
    return Exit.OK


@click.command()
@click.argument("log_dirs", nargs=-1, required=True, metavar="DIR…", type=click.Path())
@json_option
@key_options
@pass_session
def rekey(session: Session, log_dirs: tuple[str, ...]) -> int:
    """Wrap the data keys of encrypted log dirs by the current key encryption key.

    No encrypted file is rewritten; files that are made from now on get a new data key. A start of the
    broker does the same when the current key has changed. Of a machine with several cores, the log dirs of
    all.

    \b
    tidelog log rekey data --key-file /etc/tidelog/log.keys
    """
    from tidelog.storage.encryption.data_keys import DataKeys

    for path in _dirs_of_cores(log_dirs, _is_encrypted):
        if not _is_encrypted(path):
            raise CliError(
                f"{path} is not an encrypted log dir.",
                cause=f"it holds no {ENCRYPTION_KEYS}.",
                attempt=f"tidelog log encrypt {path} --key-file FILE",
                code=Exit.NOT_FOUND,
            )
        holder = given_keys().holder(path)
        with _stopped(path), key_errors(), _file_errors(path):
            disk = PosixDisk()
            before = DataKeys.open(disk, path, holder)
            keys = before.rewrap(disk, path, holder)
        now = keys.kek_ids[-1]
        if session.json:
            print_json_line({"log_dir": path, "key": now, "data_keys": len(keys.stored)})
        else:
            print(f"{path}: {len(keys.stored)} data keys, all wrapped by {now}")
    return Exit.OK


@click.command()
@click.argument("log_dirs", nargs=-1, required=True, metavar="DIR…", type=click.Path())
@json_option
@key_options
@pass_session
def encrypt(session: Session, log_dirs: tuple[str, ...]) -> int:
    """Encrypt every file in the log dir of a stopped broker that is plain.

    Each file is replaced as a whole, so the command can be interrupted and begun again. Needs free space for
    the largest file. Of a machine with several cores, the log dirs of all. Name the log dir in
    log.dirs.encryption before the broker starts.

    \b
    tidelog log encrypt data --key-file /etc/tidelog/log.keys
    """
    return _convert_all(session, log_dirs, encrypts=True)


@click.command()
@click.argument("log_dirs", nargs=-1, required=True, metavar="DIR…", type=click.Path())
@json_option
@key_options
@pass_session
def decrypt(session: Session, log_dirs: tuple[str, ...]) -> int:
    """Make every file in an encrypted log dir of a stopped broker plain again.

    Stops at a damaged file; what is done by then stays readable with the key. Of a machine with several
    cores, the log dirs of all. Take the log dir out of log.dirs.encryption before the broker starts.

    \b
    tidelog log decrypt data --key-file /etc/tidelog/log.keys
    """
    return _convert_all(session, log_dirs, encrypts=False)


def _convert_all(session: Session, log_dirs: tuple[str, ...], *, encrypts: bool) -> int:
    from tidelog.server.encryption.log_dirs import open_keys
    from tidelog.storage.encryption.encrypted_disk import EncryptedDisk

    is_of_use = _is_log_dir if encrypts else _is_encrypted
    for path in _dirs_of_cores(log_dirs, is_of_use):
        if not _is_log_dir(path) or not is_of_use(path):
            raise CliError(
                f"{path} is not {'the log dir of a broker' if encrypts else 'an encrypted log dir'}.",
                cause=f"it holds no {META if encrypts else ENCRYPTION_KEYS}.",
                code=Exit.NOT_FOUND,
            )
        holder = given_keys().holder(path)
        with key_errors(), _file_errors(path):
            keys = open_keys(PosixDisk(), path, holder)
        with _stopped(path), key_errors(), _file_errors(path):
            files, size = _convert(EncryptedDisk(PosixDisk(), {path: keys}), path, session, encrypts=encrypts)
            if not encrypts:
                for name in (ENCRYPTION_KEYS, ENCRYPTION_KEYS_COPY):
                    PosixDisk().remove(f"{path}/{name}")
                PosixDisk().sync_dir(path)
        if session.json:
            print_json_line({"log_dir": path, "encrypted": encrypts, "files": files, "bytes": size})
        else:
            print(f"{path}: {files:,} files, {size_text(size)}, {'encrypted' if encrypts else 'decrypted'}")
    return Exit.OK


def _is_log_dir(path: str) -> bool:
    return os.path.exists(f"{path}/{META}")


def _is_encrypted(path: str) -> bool:
    return encryption_mark(PosixDisk(), path) is not None


def _dirs_of_cores(log_dirs: Iterable[str], is_of_use: Callable[[str], bool]) -> list[str]:
    """Those of a machine's further cores lie below that of the first, and each has data keys of its own. Of
    them, those that are left: an earlier call may have stopped after the first."""
    found: dict[str, None] = {}
    for log_dir in map(os.path.abspath, log_dirs):
        of_use = filter(is_of_use, core_dirs(log_dir))
        found |= dict.fromkeys(of_use) or {log_dir: None}
    return list(found)


def _files_in(path: str) -> Iterator[str]:
    """Of this log dir alone, and not of those of other cores."""
    for at, directories, files in os.walk(path):
        if at == path and DIRECTORY in directories:
            directories.remove(DIRECTORY)
        yield from (os.path.join(at, name) for name in sorted(files))


def _convert(disk: "EncryptedDisk", path: str, session: Session, *, encrypts: bool) -> tuple[int, int]:
    names = list(_files_in(path))
    shows, shown_at = not session.json and sys.stderr.isatty(), time.monotonic()
    done = size = 0
    for number, name in enumerate(names, 1):
        if not os.path.exists(name):  # a copy that a call before left unfinished: the file has a new one now
            continue
        before = os.path.getsize(name)
        if (disk.encrypt if encrypts else disk.decrypt)(name):
            done += 1
            size += before
        if shows and time.monotonic() - shown_at >= TELL_SECONDS:
            shown_at = time.monotonic()
            line = f"\r\x1b[K{number:,} of {len(names):,} files, {size_text(size)}"
            print(line, end="", file=sys.stderr, flush=True)
    if shows:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return done, size


@contextmanager
def _stopped(path: str) -> Iterator[None]:
    try:
        lock = PosixDisk().lock(f"{path}/{LOCK}")
    except StorageError as error:
        raise CliError(f"A broker uses {path}.", cause=str(error), attempt="stop the broker first") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _file_errors(path: str) -> Iterator[None]:
    from tidelog.storage.encryption.data_keys import EncryptionKeyError

    try:
        yield
    except EncryptionKeyError:
        raise
    except StorageError as error:
        raise CliError(f"A broker uses {path}.", cause=str(error), attempt="stop the broker first") from error
    except OSError as error:
        code = Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED
        where = f"{error.filename}: " if error.filename else ""
        raise CliError(f"{path}: {where}{error.strerror}.", code=code) from error

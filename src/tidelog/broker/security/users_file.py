"""`sasl.users.file` as it is now: read again once it has changed; its last good content stays in force."""

import logging
import os
from collections.abc import Callable

from tidelog.security.sasl.users_file import Credentials, UsersFileError, parse_users

LOOK_SECONDS = 1.0
FILE_BYTES_MAX = 16 * 1024 * 1024

log = logging.getLogger("tidelog.broker.security")


class UsersFile:
    def __init__(self, path: str, monotonic: Callable[[], float]) -> None:
        """Raises OSError or UsersFileError: a broker does not start without its users."""
        self._path = path
        self._monotonic = monotonic
        self._looked_at = monotonic()
        self._state = _state(path)
        self._users = _read(path)

    def users(self) -> Credentials:
        now = self._monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._look()
        return self._users

    def _look(self) -> None:
        try:
            state = _state(self._path)
            if state == self._state:
                return
            self._state = state
            self._users = _read(self._path)
            log.info("%s has changed: %d users", self._path, len({name for name, _ in self._users}))
        except (OSError, UnicodeDecodeError, UsersFileError) as error:
            log.error("%s cannot be read, its earlier content stays in force: %s", self._path, error)


def _state(path: str) -> tuple[int, int, int]:
    now = os.stat(path)
    return now.st_mtime_ns, now.st_size, now.st_ino


def _read(path: str) -> Credentials:
    with open(path, encoding="utf-8") as file:
        text = file.read(FILE_BYTES_MAX + 1)
    if len(text) > FILE_BYTES_MAX:
        raise UsersFileError(f"it is larger than {FILE_BYTES_MAX} bytes")
    return parse_users(text)

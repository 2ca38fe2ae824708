"""Whether a log's disk works. A disk error takes the log offline; nothing is retried, nothing is pretended.

A log that is offline because its disk is full can still be read, and is opened anew once there is room again.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.shortages import is_descriptor_shortage, is_shortage, remedy
from tidelog.storage.space_reserve import NO_RESERVE, SpaceReserve

log = logging.getLogger("tidelog.storage")


class LogHealth:
    __slots__ = ("_path", "offline", "reserve", "sync_failed")

    def __init__(self, path: str) -> None:
        self._path = path
        self.offline: OSError | None = None
        """The error that took the log offline."""
        self.sync_failed = False
        """Then the disk may hold anything above the recovery point."""
        self.reserve: SpaceReserve = NO_RESERVE
        """Of the log dir: it says whether clients' records may be appended."""

    @property
    def is_short(self) -> bool:
        """Offline, but only for want of space or descriptors: what the log has is there, and it goes on."""
        return self.offline is not None and is_shortage(self.offline)

    def check(self) -> None:
        if self.offline is not None:
            raise self.error()

    @contextmanager
    def disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.failed(error) from error

    @contextmanager
    def read_errors(self) -> Iterator[None]:
        """A failed read is reported, and leaves the log online."""
        try:
            yield
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {self._path}: {error}") from error

    def failed(self, error: OSError) -> KafkaError:
        self.go_offline(error)
        return self.error()

    def go_offline(self, error: OSError) -> None:
        if self.offline is not None:
            return
        self.offline = error
        until = "it is repaired and the broker restarted"
        if self.is_short:
            until = "a descriptor is free" if is_descriptor_shortage(error) else "there is room on it"
        log.error("%s is offline after an error of its disk, until %s: %s", self._path, until, error)

    def error(self) -> KafkaError:
        what = "repair it, then restart the broker"
        if self.is_short:
            what = f"{remedy(self.offline)}, and the log goes on"
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self._path} is offline since an error of its disk: {self.offline}; {what}",
        )

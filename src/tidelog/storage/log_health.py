"""Whether a log's disk works. A disk error takes the log offline; nothing is retried, nothing is pretended.

A log that is offline because its disk is full can still be read, and is opened anew once there is room again.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Disk
from tidelog.storage import failed_sync
from tidelog.storage.shortages import is_descriptor_shortage, is_shortage, remedy
from tidelog.storage.space_reserve import NO_RESERVE, SpaceReserve

log = logging.getLogger("tidelog.storage")


class LogHealth:
    __slots__ = ("_disk", "_path", "is_in_doubt", "offline", "reserve", "sync_failed")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.offline: OSError | None = None
        """The error that took the log offline."""
        self.sync_failed = False
        """Then the disk may hold anything above the recovery point."""
        self.is_in_doubt = False
        """A sync failed before this log was opened, and none has succeeded since."""
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
            if not is_shortage(error):
                self.doubt_the_disk()
            raise self.failed(error) from error

    def doubt_the_disk(self) -> None:
        """A sync failed, or may have."""
        self.sync_failed = True
        failed_sync.mark(self._disk, self._path)

    def sync_succeeded(self) -> None:
        """Of all that was not known to be synced."""
        if self.is_in_doubt:
            self.is_in_doubt = False
            failed_sync.clear(self._disk, self._path)

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

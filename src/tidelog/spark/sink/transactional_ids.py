"""Transactional ids for tasks: each belongs to one process, and none is used while its transaction is open.

A process holds a slot of this machine by a lock on a file, which the kernel frees when the process dies,
however it dies. So an id is never used by two processes at once, and there are only as many ids as slots were
ever held at the same time. Where files cannot be locked a process makes up a name of its own; its ids are
forgotten by the cluster when they expire (`transactional.id.expiration.ms`).
"""

import fcntl
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SLOTS_MAX = 10_000
PREFIX = "tidelog-spark"
DRIVER = "driver"
_PLACE_DIGITS = 12
_OF_A_QUERY = re.compile(rf"{DRIVER}|[0-9a-f]{{{_PLACE_DIGITS}}}-[0-9]+")


def query_prefix(prefix: str, query: str) -> str:
    """What all ids of a query begin with."""
    return f"{prefix}-{query}-"


def driver_id(prefix: str, query: str) -> str:
    """The id under which intents are written: a driver that takes it fences its predecessors."""
    return query_prefix(prefix, query) + DRIVER


def is_of_query(id: str, prefix: str, query: str) -> bool:
    """By the whole of the id: `nightly-eu` has ids that begin as those of `nightly` do."""
    start = query_prefix(prefix, query)
    return id.startswith(start) and _OF_A_QUERY.fullmatch(id, len(start)) is not None


class Slots:
    """The slots that this process holds. It keeps them until it ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[int, int] = {}  # file descriptors: closing one gives the slot back
        self._place: str | None = None

    @property
    def place(self) -> str:
        """The name of this machine's slots: of the directory rather than the host, which may be a copy."""
        if self._place is None:
            self._place = _named(self._directory)
        return self._place

    def names(self) -> Iterator[str]:
        """Those held first, then further ones as they are needed."""
        place = self.place  # makes the directory, without which no slot can be locked
        yield from [f"{place}-{slot}" for slot in self._held]
        for slot in range(SLOTS_MAX):
            if slot not in self._held and self._take(slot):
                yield f"{place}-{slot}"

    def _take(self, slot: int) -> bool:
        try:
            file = os.open(self._directory / f"{slot}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            if self._directory.is_dir():
                raise
            return True  # no directory: the place is of this process alone, and so is each slot of it
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._held[slot] = file
        return True


def _named(directory: Path) -> str:
    """The name that the first process gave to the directory; our own where there can be no directory."""
    mine = uuid.uuid4().hex[:_PLACE_DIGITS]
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = directory / f"place.{mine}"
        draft.write_text(mine)
        try:
            os.link(draft, directory / "place")  # with its content or not at all, and only for the first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return (directory / "place").read_text() or mine
    except OSError:
        return mine


@cache
def slots_of_this_process() -> Slots:
    return Slots(Path(tempfile.gettempdir()) / f"tidelog-spark-{os.getuid()}")

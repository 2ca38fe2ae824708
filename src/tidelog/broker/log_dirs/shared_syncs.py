"""Which logs share a sync: those of one log dir that wait at the same time, by way of its journal.

A log alone is synced in its own file, which costs the same and leaves nothing to do later. So is a log with
many new bytes, which would be written twice, or with files that are new.
"""

from collections.abc import Container, Sized
from typing import NamedTuple, Protocol

from tidelog.replication.partition import Partition
from tidelog.storage.flush import Journaled
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.journal.journal import Journal, JournalWrite
from tidelog.storage.log import PartitionLog

BYTES_MAX = 256 << 10
"""Of one log in one turn: more than this costs more to write twice than to sync."""


ALONE_TURNS = 4
"""After so many syncs of the same log alone, its own file is synced."""

PATIENCE_TURNS = 6
"""Turns of the loop in which logs that were just synced may come back, before those that wait are synced."""


class SharedSync(NamedTuple):
    journal: Journal
    write: JournalWrite
    parts: list[tuple[Partition, PartitionLog, Journaled]]

    @property
    def partitions(self) -> list[Partition]:
        return [partition for partition, _, _ in self.parts]


class Syncing(Container[Partition], Sized, Protocol):
    """The partitions whose sync is under way."""


class SharedSyncs:
    def __init__(self) -> None:
        self._waiting: dict[Journal, dict[Partition, None]] = {}
        self._busy: set[Journal] = set()
        self._users: dict[Journal, dict[str, Partition]] = {}
        """By the name of the directory, the partitions with entries in a journal."""
        self._expected: dict[Journal, tuple[int, int]] = {}
        """How many logs wait soon after the last sync, and how many turns of the loop they have for that."""
        self._alone: dict[Journal, tuple[Partition, int]] = {}
        """The last partition that waited without others, and how often in a row it did."""

    def __bool__(self) -> bool:
        return any(self._waiting.values())

    def add(self, partition: Partition, journal: Journal) -> None:
        waiting = self._waiting.get(journal)
        if waiting is None:
            waiting = self._waiting[journal] = {}
        waiting[partition] = None

    def forget(self, partition: Partition) -> None:
        for waiting in self._waiting.values():
            waiting.pop(partition, None)
        for users in self._users.values():
            if users.get(partition.log.name) is partition:
                del users[partition.log.name]

    def ready(self) -> list[Journal]:
        return [one for one, waiting in self._waiting.items() if waiting and one not in self._busy]

    def is_patient(self, journal: Journal) -> bool:
        """Whether to look again in the next turn of the loop: clients that wait for each answer send their
        next requests right after the last sync, and a sync that leaves them out costs them another one."""
        expected, turns = self._expected.get(journal, (0, 0))
        if not turns or len(self._waiting[journal]) >= expected:
            return False
        self._expected[journal] = expected, turns - 1
        return True

    def begin(self, journal: Journal, syncing: Syncing) -> tuple[SharedSync | None, list[Partition]]:
        """(a write to the journal, logs to sync on their own); what fits into neither goes on waiting."""
        waiting = self._waiting[journal]
        free = [partition for partition in waiting if partition not in syncing]
        if journal.failure is not None or self._are_few(free, journal):
            for partition in free:
                del waiting[partition]
            return None, free
        if len(free) > 1:
            self._alone.pop(journal, None)
        parts: list[tuple[Partition, PartitionLog, Journaled]] = []
        entries: list[JournalEntry] = []
        alone: list[Partition] = []
        done: list[Partition] = []
        size = 0
        for partition in free:
            log = partition.log
            if log.synced_end >= log.end:
                done.append(partition)  # a sync of its own came first
                continue
            journaled = log.begin_journaling(BYTES_MAX) if log.journal is journal else None
            if journaled is None:
                alone.append(partition)
                continue
            entry = JournalEntry(log.name, partition.topic_id, *journaled.start, journaled.data)
            if not journal.fits(size + entry.size):
                if not parts:
                    alone.append(partition)
                    continue
                break
            size += entry.size
            entries.append(entry)
            parts.append((partition, log, journaled))
        write = journal.begin(entries) if entries else None
        taken = [partition for partition, _, _ in parts]
        if write is None:
            alone += taken
        else:
            self._busy.add(journal)
            users = self._users.setdefault(journal, {})
            users.update((log.name, partition) for partition, log, _ in parts)
        for partition in (*done, *alone, *taken):
            waiting.pop(partition, None)
        return (None if write is None else SharedSync(journal, write, parts)), alone

    def _are_few(self, free: list[Partition], journal: Journal) -> bool:
        """Whether syncs of their own files cost no more. Of two logs that take turns, each is alone at times:
        so only one that was alone for a while counts as that."""
        if len(free) == 1 and journal.logs_min <= 2:
            last, turns = self._alone.get(journal, (None, 0))
            turns = turns + 1 if last is free[0] else 1
            self._alone[journal] = free[0], turns
            return journal.logs_min > 1 and turns > ALONE_TURNS
        return len(free) < journal.logs_min

    def finish(self, begun: SharedSync) -> bool:
        """Whether the entries are durable."""
        self._busy.discard(begun.journal)
        population = len(begun.parts) + len(self._waiting[begun.journal])
        self._expected[begun.journal] = population, PATIENCE_TURNS
        begun.journal.finish(begun.write)
        return begun.write.error is None

    def logs_to_sync(self, journal: Journal) -> list[Partition]:
        """Logs to sync in their own files now, so that the journal can go on."""
        if not journal.wants_file_syncs:
            return []
        users = self._users.get(journal, {})
        return [
            partition
            for name in journal.logs_to_sync()
            if (partition := users.get(name)) is not None and partition.log.offline is None
        ]

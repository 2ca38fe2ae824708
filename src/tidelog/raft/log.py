"""The log in memory: the entries after a base, and which of them are durable.

The base is the last entry that was compacted away: its index and term are all that is left of it.
base <= stable <= written <= last: `written` was handed to the shell, `stable` is known to be synced.
"""

from collections.abc import Sequence

from tidelog.base.invariant import invariant
from tidelog.raft.entries import Entry, Index, Term

ENTRY_OVERHEAD_BYTES = 16


def entry_bytes(entry: Entry) -> int:
    return len(entry.data) + ENTRY_OVERHEAD_BYTES


class RaftLog:
    __slots__ = ("_entries", "base_index", "base_term", "last_index", "stable", "truncated_from", "written")

    def __init__(self, base_index: Index, base_term: Term, entries: Sequence[Entry]) -> None:
        self.base_index = base_index
        self.base_term = base_term
        self._entries = list(entries)
        self.last_index = base_index + len(self._entries)
        self.written = self.stable = self.last_index
        self.truncated_from: Index | None = None
        """The disk still has entries from here on that the log dropped."""

    @property
    def last_term(self) -> Term:
        return self._entries[-1].term if self._entries else self.base_term

    def term_at(self, index: Index) -> Term | None:
        """None beyond the log, and for compacted entries."""
        if index == self.base_index:
            return self.base_term
        if self.base_index < index <= self.last_index:
            return self._entries[index - self.base_index - 1].term
        return None

    def entry(self, index: Index) -> Entry:
        invariant(self.base_index < index <= self.last_index, "no such entry", index=index)
        return self._entries[index - self.base_index - 1]

    def between(self, first: Index, last: Index) -> list[Entry]:
        """Entries from first to last, both included."""
        invariant(self.base_index < first, "entries were compacted away", first=first, base=self.base_index)
        return self._entries[first - self.base_index - 1 : last - self.base_index]

    def batch(self, first: Index, bytes_max: int, entries_max: int) -> tuple[tuple[Entry, ...], int]:
        """Entries from first on that fit, at least one, and their size."""
        size = 0
        end = first
        while end <= self.last_index and end - first < entries_max:
            more = entry_bytes(self._entries[end - self.base_index - 1])
            if end > first and size + more > bytes_max:
                break
            size += more
            end += 1
        return tuple(self.between(first, end - 1)), size

    def is_up_to_date(self, last_index: Index, last_term: Term) -> bool:
        """Whether a log that ends there is at least as up-to-date as this one. Only then may its owner get a
        vote."""
        return (last_term, last_index) >= (self.last_term, self.last_index)

    def first_of_term(self, index: Index) -> Index:
        """The first index that is still here of the term that `index` has."""
        term = self.term_at(index)
        while self.term_at(index - 1) == term:
            index -= 1
        return index

    def last_up_to_term(self, index: Index, term: Term) -> Index:
        """The last index, at most `index`, whose term is at most `term`; the base where there is none."""
        index = min(index, self.last_index)
        while index > self.base_index and self._entries[index - self.base_index - 1].term > term:
            index -= 1
        return index

    def append(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)
        self.last_index += len(entries)

    def truncate_from(self, index: Index) -> None:
        """Drop `index` and everything after it."""
        invariant(index > self.base_index, "truncation below the base", index=index, base=self.base_index)
        del self._entries[index - self.base_index - 1 :]
        self.last_index = index - 1
        if index <= self.written:
            self.written = index - 1
            if self.truncated_from is None or index < self.truncated_from:
                self.truncated_from = index
        self.stable = min(self.stable, self.written)

    def replace(self, index: Index, term: Term) -> None:
        """Replace the whole log by a snapshot at `index`."""
        self._entries.clear()
        self.base_index = self.last_index = self.written = self.stable = index
        self.base_term = term
        self.truncated_from = None

    def compact(self, index: Index, keep_entries: int, keep_bytes: int) -> None:
        """Forget entries up to index, but for some at the end of them."""
        first_kept = index + 1
        size = 0
        while first_kept - 1 > self.base_index and index + 1 - first_kept < keep_entries:
            size += entry_bytes(self.entry(first_kept - 1))
            if size > keep_bytes:
                break
            first_kept -= 1
        new_base = min(first_kept - 1, self.stable)
        if new_base <= self.base_index:
            return
        term = self.entry(new_base).term
        del self._entries[: new_base - self.base_index]
        self.base_index, self.base_term = new_base, term

    def take_unwritten(self) -> tuple[Index | None, Index, list[Entry]]:
        """(index to truncate from first, index of the first entry, entries) for the shell to write."""
        truncate_from, self.truncated_from = self.truncated_from, None
        first = self.written + 1
        entries = self.between(first, self.last_index) if first <= self.last_index else []
        self.written = self.last_index
        return truncate_from, first, entries

    def mark_synced(self, index: Index) -> None:
        """The disk has what was written up to index, unless that was truncated in the meantime."""
        self.stable = max(self.stable, min(index, self.written))

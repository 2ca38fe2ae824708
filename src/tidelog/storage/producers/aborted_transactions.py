"""The aborted transactions of a whole log, from the indexes of its segments; most logs have none.

Nothing is read before it is needed, and few indexes stay in memory. What the files say is checked; where it
cannot be right, the batches of the segment tell it again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence

from tidelog.base.ids import Offset
from tidelog.base.ports import read_file
from tidelog.storage.file_names import TXN_INDEX, parse
from tidelog.storage.log_files import LogFiles
from tidelog.storage.segment.offset_index import CorruptIndex
from tidelog.storage.segment.transaction_index import ENTRY, Aborted, TransactionIndex

_IN_MEMORY_MAX = 4

Rebuild = Callable[[Offset], list[Aborted]]
"""What the batches of the segment with this base say."""
IsTrue = Callable[[Aborted], bool]
"""Whether the log has such a transaction: the format of the file has no checksum."""


class AbortedTransactions:
    __slots__ = ("_bases_known", "_checked", "_files", "_is_true", "_loaded", "_rebuild")

    def __init__(self, files: LogFiles, rebuild: Rebuild, is_true: IsTrue) -> None:
        self._files = files
        self._rebuild = rebuild
        self._is_true = is_true
        self._checked: set[Offset] = set()  # bases, once in the life of this process
        self._bases_known: list[Offset] | None = None
        self._loaded: dict[Offset, TransactionIndex] = {}

    @property
    def _bases(self) -> list[Offset]:
        """Of the segments that have an index, in order."""
        if self._bases_known is None:
            names = self._files.disk.names(self._files.path)
            parsed = [found for name in names if (found := parse(name)) is not None]
            self._bases_known = sorted(base for base, suffix in parsed if suffix == TXN_INDEX)
        return self._bases_known

    @property
    def is_empty(self) -> bool:
        return not self._bases

    def between(self, start: Offset, end: Offset) -> list[Aborted]:
        """Those with a marker at or above `start` that begin below `end`, in the order of their markers."""
        bases = self._bases
        if not bases:
            return []
        found: list[Aborted] = []
        for base in bases[max(0, bisect_right(bases, start) - 1) :]:
            if self._index(base).between(start, end, found):
                break
        return found

    def add(self, base: Offset, entry: Aborted) -> str:
        """An abort marker came into the segment with this base; returns the file that must be synced."""
        bases = self._bases
        is_new = base not in bases
        index = self._put(base, TransactionIndex([])) if is_new else self._index(base)
        path = self._path(base)
        file = self._files.disk.open(path, create=True)
        try:
            index.add(entry)
            file.write_at(ENTRY.size * (len(index) - 1), [index.dump(len(index) - 1)])
        finally:
            file.close()
        if is_new:
            bases.insert(bisect_left(bases, base), base)
        return path

    def truncate_from_end(self, end: Offset, bases: Collection[Offset]) -> None:
        """The log ends at `end` now; these segments are left, and the files of the others gone already."""
        self.keep(bases)
        if self._bases:
            index = self._index(self._bases[-1])
            count = len(index)
            index.truncate(end)
            if len(index) < count:
                self._write(self._bases[-1], index)

    def after_crash(self, synced: Offset, bases: Sequence[Offset], replayed: Sequence[Aborted]) -> None:
        """Discard what the files say of markers from `synced` on; `replayed` are those of the batches.

        `bases` of all segments.
        """
        for base, above in zip(bases, [*bases[1:], None], strict=True):
            if above is not None and above <= synced:
                continue
            entries = [
                entry for entry in replayed if base <= entry.last and (above is None or entry.last < above)
            ]
            if not entries and base not in self._bases:
                continue
            raw = read_file(self._files.disk, self._path(base)) or b""
            index = TransactionIndex.load_below(base, raw, synced)
            for entry in entries:
                if entry.last >= synced:
                    index.add(entry)
            self._write(base, index)

    def keep(self, bases: Collection[Offset]) -> None:
        """Segments went away: these are left."""
        if self._bases_known is not None:
            self._bases_known = [base for base in self._bases_known if base in bases]
        self._loaded = {base: index for base, index in self._loaded.items() if base in bases}

    def repair(self) -> None:
        """Repair the files that cannot be read: a compaction relies on them, and looks at no batch for it."""
        for base in self._bases:
            self._index(base)

    def look_again(self) -> None:
        """Files were replaced, as compaction does."""
        self._bases_known = None
        self._loaded.clear()

    def _path(self, base: Offset) -> str:
        return self._files.file(base, TXN_INDEX)

    def _index(self, base: Offset) -> TransactionIndex:
        index = self._loaded.pop(base, None)
        if index is None:
            try:
                index = TransactionIndex.load(base, read_file(self._files.disk, self._path(base)) or b"")
                if base not in self._checked and not all(map(self._is_true, index.entries)):
                    raise CorruptIndex("it speaks of a transaction that is not there")
            except CorruptIndex:
                index = TransactionIndex(self._rebuild(base))
                self._write(base, index)
            self._checked.add(base)
        return self._put(base, index)

    def _put(self, base: Offset, index: TransactionIndex) -> TransactionIndex:
        """Used just now; the one that was not for longest makes room."""
        self._loaded[base] = index
        while len(self._loaded) > _IN_MEMORY_MAX:
            del self._loaded[next(iter(self._loaded))]
        return index

    def _write(self, base: Offset, index: TransactionIndex) -> None:
        bases = self._bases
        file = self._files.disk.open(self._path(base), create=True)
        try:
            file.truncate(0)
            if index.entries:
                file.write_at(0, [index.dump()])
            file.sync()
        finally:
            file.close()
        if base not in bases:
            bases.insert(bisect_left(bases, base), base)
        self._put(base, index)

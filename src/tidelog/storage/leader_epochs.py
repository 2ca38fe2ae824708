"""Which leader epoch wrote from which offset on: how replicas that parted find where they agree.

The file is Kafka's `leader-epoch-checkpoint`, with lines `epoch start_offset`.
"""

from bisect import bisect_right

from tidelog.base.errors import StorageError
from tidelog.base.ids import NO_EPOCH, NO_OFFSET, Epoch, Offset
from tidelog.base.ports import Disk
from tidelog.storage.log_dir import checkpoint_text


class LeaderEpochs:
    """Epochs and their start offsets, both strictly increasing."""

    __slots__ = ("_epochs", "_starts", "changed")

    def __init__(self) -> None:
        self._epochs: list[Epoch] = []
        self._starts: list[Offset] = []
        self.changed = False
        """There is something that the file does not have yet."""

    @property
    def latest(self) -> Epoch:
        return self._epochs[-1] if self._epochs else NO_EPOCH

    @property
    def first_start(self) -> Offset:
        return self._starts[0] if self._starts else NO_OFFSET

    @property
    def latest_start(self) -> Offset:
        return self._starts[-1] if self._starts else NO_OFFSET

    @property
    def entries(self) -> list[tuple[Epoch, Offset]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: Epoch, start: Offset) -> None:
        """`epoch` writes from `start` on. Entries that contradict this are of a truncated log: they go."""
        if epoch < 0 or epoch == self.latest:
            return
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start):
            del self._epochs[-1], self._starts[-1]
        self._epochs.append(epoch)
        self._starts.append(start)
        self.changed = True

    def epoch_of(self, offset: Offset) -> Epoch:
        number = bisect_right(self._starts, offset) - 1
        return self._epochs[number] if number >= 0 else NO_EPOCH

    def end_of(self, epoch: Epoch, log_end: Offset) -> tuple[Epoch, Offset]:
        """(largest epoch at or below `epoch`, where it ended); (-1, -1) where nothing can be said."""
        if not self._epochs or epoch > self._epochs[-1] or epoch < 0:
            return NO_EPOCH, NO_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end
        above = bisect_right(self._epochs, epoch)
        known = self._epochs[above - 1] if above else epoch
        return known, self._starts[above]

    def truncate_from_end(self, end: Offset) -> None:
        """The log now ends at `end`."""
        while self._starts and self._starts[-1] >= end:
            del self._epochs[-1], self._starts[-1]
            self.changed = True

    def truncate_from_start(self, start: Offset) -> None:
        """The log now starts at `start`; the epoch that wrote there keeps its entry, moved up."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or (first == 0 and self._starts[0] == start):
            return
        del self._epochs[:first], self._starts[:first]
        self._starts[0] = start
        self.changed = True

    def begin_with(self, start: Offset) -> None:
        """The first epoch goes back to where the log starts: a gap in front of its first batch is its own."""
        if self._starts and self._starts[0] > start:
            self._starts[0] = start
            self.changed = True

    def clear(self) -> None:
        self.changed = self.changed or bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()

    def dump(self) -> bytes:
        return checkpoint_text.dump([f"{epoch} {start}" for epoch, start in self.entries])

    @classmethod
    def load(cls, raw: bytes, path: str) -> "LeaderEpochs":
        epochs = cls()
        try:
            lines = checkpoint_text.load(raw)
            pairs = [(int(epoch), int(start)) for epoch, start in map(str.split, lines)]
        except ValueError as error:
            raise StorageError(f"{path} is damaged, or no leader epoch checkpoint: {error}") from error
        for epoch, start in pairs:
            if (
                epoch < 0
                or start < 0
                or epoch <= epochs.latest
                or (epochs._starts and start <= epochs._starts[-1])
            ):
                raise StorageError(f"{path}: entry '{epoch} {start}' is out of order")
            epochs._epochs.append(epoch)
            epochs._starts.append(start)
        return epochs


def write(disk: Disk, path: str, epochs: LeaderEpochs) -> None:
    """Replaces the file at once; durable when a flush has synced it."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write_at(0, [epochs.dump()])
    finally:
        file.close()
    disk.rename(temporary, path)
    epochs.changed = False

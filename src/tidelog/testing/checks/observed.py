"""A history turned round: for each value who wrote it and who read it, for each partition what lies where."""

from collections.abc import Iterator
from functools import cached_property

from tidelog.testing.history import Completion, History, Operation, Partition, Sent

ACKS_ALL = -1
TXN = "txn"


class Observed:
    def __init__(self, history: History) -> None:
        self.history = history
        self.writers: dict[str, Operation] = {}
        self.sent: dict[str, Sent] = {}
        self.readers: dict[str, list[Operation]] = {}
        self.highest_read: dict[Partition, int] = {}
        self.places: dict[Partition, dict[int, dict[str, None]]] = {}
        """The values seen at each offset; more than one is an anomaly."""
        for operation in history:
            for sent in operation.sent:
                self.writers[sent.value] = operation
                self.sent[sent.value] = sent
            for read in operation.read:
                self.readers.setdefault(read.value, []).append(operation)
                self._place(read.partition, read.offset, read.value)
                self.highest_read[read.partition] = max(
                    read.offset, self.highest_read.get(read.partition, -1)
                )
        for value, sent in self.sent.items():
            if sent.offset is not None and self.is_promised(value):
                self._place(sent.partition, sent.offset, value)

    def _place(self, partition: Partition, offset: int, value: str) -> None:
        self.places.setdefault(partition, {}).setdefault(offset, {})[value] = None

    def is_promised(self, value: str) -> bool:
        """It was acknowledged in a way that must last."""
        writer = self.writers.get(value)
        return writer is not None and writer.outcome is Completion.OK and writer.acks == ACKS_ALL

    def is_read(self, value: str) -> bool:
        return value in self.readers

    def is_read_committed(self, value: str) -> bool:
        return any(reader.committed_only for reader in self.readers.get(value, ()))

    def is_below_highest_read(self, sent: Sent) -> bool:
        return sent.offset is not None and sent.offset <= self.highest_read.get(sent.partition, -1)

    def counts(self, value: str) -> bool:
        """A reader that passes by its place must see it."""
        writer = self.writers.get(value)
        if writer is None or writer.kind != TXN:
            return True
        if writer.outcome is Completion.FAIL:
            return False
        return writer.outcome is Completion.OK or self.is_read_committed(value)

    @cached_property
    def order(self) -> dict[Partition, list[int]]:
        """The offsets of each partition that a reader must not pass by."""
        return {
            partition: sorted(offset for offset, values in places.items() if any(map(self.counts, values)))
            for partition, places in self.places.items()
        }

    def transactions(self) -> Iterator[Operation]:
        return (operation for operation in self.history if operation.kind == TXN)

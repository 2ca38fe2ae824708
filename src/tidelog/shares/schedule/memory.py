"""The memory that all indexes of due times of a broker share (`group.share.schedule.memory.bytes`).

Where it is used up, the index that has most of it moves a part into a file.
"""

from typing import Protocol


class Spilling(Protocol):
    @property
    def memory_bytes(self) -> int: ...

    def spill(self) -> None:
        """Free some memory, by a file or by forgetting."""
        ...


class ScheduleMemory:
    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.used_bytes = 0
        self._sizes: dict[Spilling, int] = {}

    def attach(self, index: Spilling) -> None:
        self._sizes[index] = 0

    def detach(self, index: Spilling) -> None:
        self.used_bytes -= self._sizes.pop(index)

    def note(self, index: Spilling) -> None:
        """The memory of this index has changed."""
        size = index.memory_bytes
        self.used_bytes += size - self._sizes[index]
        self._sizes[index] = size

    def make_room(self) -> None:
        while self.used_bytes > self.bytes_max:
            largest = max(self._sizes, key=self._sizes.__getitem__)
            before = self.used_bytes
            largest.spill()
            self.note(largest)
            if self.used_bytes >= before:
                return

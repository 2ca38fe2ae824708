"""The disk of a simulated machine: it outlives the processes on it; a power cut ends the one that runs."""

from collections.abc import Callable

from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut


class SimDisk(MemoryDisk):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.on_power_cut: Callable[[], None] = lambda: None
        """Called within the operation that dies half-way, before anything else can happen."""

    def change(self, operation: str, path: str, half: Callable[[], None] | None = None) -> None:
        try:
            super().change(operation, path, half)
        except PowerCut:
            self.on_power_cut()
            raise

    def cut_power_soon(self, operations: int) -> None:
        """The machine dies in the middle of its n-th change from now."""
        self.power_cut_at = self.operations + operations

    def fill_up(self, room_bytes: int) -> None:
        """From now on there is room for so many bytes only."""
        total, free = self.free_bytes("/")
        self.capacity_bytes = total - free + room_bytes

    def process_died(self) -> None:
        """kill -9: the page cache stays, the locks of the process are gone."""
        self.power_cut_at = self._power_cut_in = None
        self.release_locks()

"""A life is one process of the simulated world, from its start to its death.

Everything that a callback of a life schedules belongs to that life. A dead life's callbacks never run again,
not even its `finally` blocks, which is what kill -9 does; those of a paused one wait, as under SIGSTOP.
"""

from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.testing.sim.runtime.loop import Call

CURRENT: ContextVar["Life"] = ContextVar("tidelog_sim_life")


class Life:
    """Its clocks differ from the world's: `monotonic` runs at its own rate from its own start."""

    __slots__ = (
        "_local_start",
        "_world_start",
        "context",
        "is_alive",
        "is_paused",
        "name",
        "parked",
        "rate",
        "wall_offset_ms",
    )

    def __init__(self, name: str, *, local_start: float = 0.0) -> None:
        self.name = name
        self.is_alive = True
        self.is_paused = False
        self.parked: list[Call] = []
        self.wall_offset_ms = 0
        """How far its wall clock is off; may change at any moment."""
        self.rate = 1.0
        self._local_start = local_start
        self._world_start = 0.0
        self.context: Context = copy_context()
        self.context.run(CURRENT.set, self)

    def __repr__(self) -> str:
        state = "paused" if self.is_paused else "alive" if self.is_alive else "dead"
        return f"<Life {self.name} {state}>"

    def local_time(self, world: float) -> float:
        return self._local_start + (world - self._world_start) * self.rate

    def world_time(self, local: float) -> float:
        return self._world_start + (local - self._local_start) / self.rate

    def drift(self, rate: float, world: float) -> None:
        """From now on its clock runs faster or slower; it never goes back."""
        self._local_start, self._world_start = self.local_time(world), world
        self.rate = rate

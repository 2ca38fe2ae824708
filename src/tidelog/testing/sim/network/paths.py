"""The ways between machines, one in each direction: how long a frame takes, what is blocked or clogged."""

import random
from collections.abc import Callable, Iterable

Held = Callable[[bool], None]
"""Called when the path is open again; False: the connection did not survive that."""


class Path:
    """From one machine to another."""

    __slots__ = ("blocks", "clogged_until", "extra_seconds", "held")

    def __init__(self) -> None:
        self.blocks = 0
        """Several faults may block the same path at the same time."""
        self.clogged_until = 0.0
        self.extra_seconds = 0.0
        """How much longer a frame takes here than elsewhere."""
        self.held: list[Held] = []
        """What TCP would send again until it gets through."""

    @property
    def is_blocked(self) -> bool:
        return self.blocks > 0


class Paths:
    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self._paths: dict[tuple[str, str], Path] = {}
        self.latency = 0.0005
        self.jitter = 0.001
        self.slow_rate = 0.0
        """The part of frames that takes a hundred times longer."""
        self.loss_rate = 0.0
        """The part of frames with which the connection that carries them breaks."""
        self.repeat_rate = 0.0
        """The part of one-way messages that arrive again, later."""
        self.stray_rate = 0.0
        """The part of one-way messages that others overtake, or that are lost alone."""

    def between(self, source: str, target: str) -> Path:
        path = self._paths.get((source, target))
        if path is None:
            path = self._paths[source, target] = Path()
        return path

    def delay(self, path: Path | None = None) -> float:
        chance = self._random
        delay = self.latency + chance.random() * self.jitter
        if self.slow_rate and chance.random() < self.slow_rate:
            delay *= 100
        return delay if path is None else delay + path.extra_seconds

    def happens(self, rate: float) -> bool:
        return rate > 0 and self._random.random() < rate

    def block(self, sources: Iterable[str], targets: Iterable[str]) -> list[Path]:
        """One direction only."""
        sources, targets = list(sources), list(targets)
        paths = [self.between(one, other) for one in sources for other in targets if one != other]
        for path in paths:
            path.blocks += 1
        return paths

    def clog(self, source: str, target: str, until: float) -> None:
        path = self.between(source, target)
        path.clogged_until = max(path.clogged_until, until)

    def stretch(self, sources: Iterable[str], targets: Iterable[str], seconds: float) -> None:
        """Frames take so much longer there; 0: as long as everywhere."""
        for source in sources:
            for target in targets:
                self.between(source, target).extra_seconds = seconds

    def mend(self, paths: Iterable[Path]) -> None:
        """Undo one block of each. Of the connections that had stalled, some go on and some are gone."""
        for path in paths:
            if path.blocks:
                path.blocks -= 1
                if not path.blocks:
                    self._release(path)

    def mend_all(self) -> None:
        for path in self._paths.values():
            path.clogged_until = path.extra_seconds = 0.0
            path.blocks = 0
            self._release(path)

    def _release(self, path: Path) -> None:
        held, path.held = path.held, []
        for resume in held:
            resume(self._random.random() < 0.5)

    def calm(self) -> None:
        """No more loss and no more oddities; blocked paths are for `mend`."""
        self.slow_rate = self.loss_rate = self.repeat_rate = self.stray_rate = 0.0

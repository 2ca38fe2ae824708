"""What is wrong with a configuration: all problems at once, each with its place and the right name."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.base.errors import TidelogError


class Problem(NamedTuple):
    name: str
    reason: str
    where: str = ""
    """File and line, environment variable or flag; empty where the value came over the network."""

    def __str__(self) -> str:
        return f"{self.where}: {self.name}: {self.reason}" if self.where else f"{self.name}: {self.reason}"


class ConfigError(TidelogError):
    """Settings that cannot be accepted. Nothing of them was applied."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        super().__init__(
            lines[0] if len(lines) == 1 else f"{len(lines)} settings are wrong:\n  " + "\n  ".join(lines)
        )


NO_SUCH_SETTING = "no such setting"

# Kafka's names that no similar spelling here would suggest.
_KNOWN_AS = {
    "broker.id": "node.id",
    "host.name": "listeners",
    "log.dir": "log.dirs",
    "log.flush.scheduler.interval.ms": "log.flush.interval.ms",
    "num.io.threads": "background.threads",
    "port": "listeners",
}


def unknown(name: str, names: Iterable[str], instead: str | None = None) -> str:
    """The reason to refuse an unknown setting; `instead` is the right name if there is one."""
    known = list(names)
    if instead is None and _KNOWN_AS.get(name) in known:
        instead = _KNOWN_AS[name]
    if instead is not None:
        return f"no such setting; use {instead}"
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    if not near:
        return NO_SUCH_SETTING
    likeness = {other: difflib.SequenceMatcher(None, name, other).ratio() for other in near}
    # A typo has one good answer; further ones would only hide it.
    best = [other for other in near if likeness[other] > likeness[near[0]] - 0.1]
    return f"no such setting; did you mean {' or '.join(best)}?"

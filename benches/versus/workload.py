"""A workload: what is done to one system, and the figures that come out of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benches.versus.figures import Figure
from benches.versus.systems import System

RATE = Figure("rate", "messages/s", True, 1.0)
CPU_PER_GB = Figure("broker CPU", "s/GB", False)
LOAD_SHARE = Figure("generator's CPU", "cores", False)


@dataclass(frozen=True)
class Arena:
    """How both systems are set up; workloads of one arena share the running brokers."""

    durability: str = "os"
    """`os`, `fsync`, or `defaults`: what each of them does unless it is told otherwise."""
    brokers: int = 1
    compiled: bool = False
    """Tidelog with its produce path in C, which `make native` builds."""
    purpose: str = ""
    """Sets apart what would spoil the running brokers for others, such as restarts."""

    def __str__(self) -> str:
        many = "one broker" if self.brokers == 1 else f"{self.brokers} brokers"
        return f"{many}, {self.durability}{', compiled' if self.compiled else ''}"


@dataclass(frozen=True)
class Workload:
    name: str
    arena: Arena
    figures: Sequence[Figure]
    run: Callable[[System], Mapping[str, float]]
    """One round on a running system: the value of each figure by its name."""
    bare: Callable[[], Mapping[str, float]] | None = None
    """The same by a loop of bare system calls: what this machine allows at most."""
    warm_up: Callable[[System], object] | None = None
    """Before the first round, for figures that a JVM which still compiles would spoil."""

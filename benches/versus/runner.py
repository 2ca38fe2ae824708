"""Runs workloads: systems of an arena side by side, rounds in alternation, one figure after the other."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import groupby

from versus.figures import Rounds
from versus.systems import System
from versus.workload import Arena, Workload

Measured = dict[str, list[Rounds]]
"""The figures of each workload, by its title."""


def title(workload: Workload) -> str:
    return f"{workload.name} ({workload.arena})"


def run_all(
    workloads: Sequence[Workload],
    kinds: Iterable[type[System]],
    rounds: int,
    tell: Callable[[str], None],
) -> tuple[Measured, dict[str, str]]:
    """What was measured, and for workloads that failed on a system, why."""
    measured: Measured = {}
    failed: dict[str, str] = {}
    kinds = list(kinds)
    ordered = sorted(workloads, key=lambda each: (each.arena.brokers, each.arena.durability))
    for arena, group in groupby(ordered, key=lambda each: each.arena):
        with ExitStack() as running:
            tell(f"starting {arena}")
            systems = [running.enter_context(kind(arena.durability, arena.brokers)) for kind in kinds]
            for workload in group:
                measured[title(workload)] = _alternate(workload, systems, rounds, tell, failed)
    return measured, failed


def _alternate(
    workload: Workload,
    systems: Sequence[System],
    rounds: int,
    tell: Callable[[str], None],
    failed: dict[str, str],
) -> list[Rounds]:
    """One more round comes first and is not counted: compiled code and warm caches for everybody."""
    found = {figure.name: Rounds(figure) for figure in workload.figures}
    for number in range(rounds + 1):
        # Who begins changes, so that nobody always runs into what the other left behind.
        for system in systems if number % 2 else reversed(systems):
            tell(f"{title(workload)}: {system.name}")
            try:
                values = workload.run(system)
            except (OSError, RuntimeError) as error:
                failed[f"{title(workload)}: {system.name}"] = str(error)
                continue
            if number:
                for name, value in values.items():
                    found[name].add(system.name, value)
    return list(found.values())


def steps(workloads: Sequence[Workload], systems: int, rounds: int) -> int:
    """How often `tell` is called, for a progress bar."""
    arenas: set[Arena] = {workload.arena for workload in workloads}
    return len(arenas) + len(workloads) * systems * (rounds + 1)

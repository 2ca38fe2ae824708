"""Runs workloads: systems of an arena side by side, rounds in alternation, one figure after the other."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from subprocess import SubprocessError

from benches.versus.figures import Rounds
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

BARE = "bare limit"
Measured = dict[str, list[Rounds]]
"""The figures of each workload, by its title."""


def title(workload: Workload) -> str:
    return f"{workload.name} ({workload.arena})"


def in_order(workloads: Iterable[Workload]) -> list[Workload]:
    """By arena, and as they are listed within one."""
    return sorted(
        workloads,
        key=lambda each: (each.arena.brokers, each.arena.durability, each.arena.compiled, each.arena.purpose),
    )


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
    for arena, group in groupby(in_order(workloads), key=lambda each: each.arena):
        with ExitStack() as running:
            tell(f"starting {arena}")
            systems: list[System] = []
            for kind in kinds:
                try:
                    systems.append(
                        running.enter_context(kind(arena.durability, arena.brokers, arena.compiled))
                    )
                except (OSError, RuntimeError, SubprocessError) as error:
                    failed[f"{arena}: {kind.name}"] = str(error)  # the others go on without it
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
    if workload.warm_up is not None:
        for system in systems:
            tell(f"{title(workload)}: warming up {system.name}")
            workload.warm_up(system)
    for number in range(rounds + 1):
        # Who begins changes, so that nobody always runs into what the other left behind.
        turns = [(system.name, partial(workload.run, system)) for system in systems]
        if workload.bare is not None:
            turns.append((BARE, workload.bare))
        for name, run in turns if number % 2 else reversed(turns):
            tell(f"{title(workload)}: {name}")
            try:
                values = run()
            except (OSError, RuntimeError) as error:
                failed[f"{title(workload)}: {name}"] = str(error)
                continue
            if number:
                for figure, value in values.items():
                    found[figure].add(name, value)
    return list(found.values())


def steps(workloads: Sequence[Workload], systems: int, rounds: int) -> int:
    """How often `tell` is called, for a progress bar."""
    arenas: set[Arena] = {workload.arena for workload in workloads}
    turns = sum(systems + (workload.bare is not None) for workload in workloads)
    warm_ups = systems * sum(workload.warm_up is not None for workload in workloads)
    return len(arenas) + warm_ups + turns * (rounds + 1)

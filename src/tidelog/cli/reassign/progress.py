"""How far the moves are: a look at the replicas that are being filled, and a bar that shows it.

A bar on a terminal, a line now and then through a pipe; both on stderr, where they disturb no data.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.base.units import size_text
from tidelog.cli.cluster.log_dir_sizes import Stored, look_at_log_dirs
from tidelog.cli.cluster.view import ClusterView, look_at_brokers, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import console, note
from tidelog.cli.reassign.calls import Ongoing, list_reassignments
from tidelog.clients.records import TopicPartition

INTERVAL_S = 0.5
LINE_EVERY_S = 10.0
PATIENCE_S = 60.0  # with brokers that do not answer while they restart


@dataclass(frozen=True, slots=True)
class Standing:
    partitions: int
    partitions_done: int
    bytes_total: int
    bytes_done: int
    waiting_for: tuple[int, ...] = ()
    """Brokers that are to take replicas but are not alive."""

    @property
    def finished(self) -> bool:
        return self.partitions_done == self.partitions

    def text(self) -> str:
        shown = f"{self.partitions_done} of {self.partitions} partitions"
        if self.bytes_total:
            shown += f", {size_text(self.bytes_done)} of {size_text(self.bytes_total)}"
        if self.waiting_for:
            shown += f"; waiting for {numbers_text(self.waiting_for)}, not alive"
        return shown


def standing(
    copies: Mapping[TopicPartition, Sequence[int]],
    ongoing: Mapping[TopicPartition, Ongoing],
    stored: Mapping[int, Stored],
    dead: Sequence[int],
) -> Standing:
    """`copies` are the replicas to fill by partition; what is no longer ongoing is done."""
    total = done = 0
    waiting: dict[int, None] = {}
    for place, adding in copies.items():
        held = {id: found.sizes[place] for id, found in stored.items() if place in found.sizes}
        full = max(held.values(), default=0)
        total += full * len(adding)
        if place not in ongoing:
            done += full * len(adding)
            continue
        done += sum(held.get(id, 0) for id in adding)
        waiting.update((id, None) for id in adding if id in dead)
    left = sum(place in ongoing for place in copies)
    return Standing(len(copies), len(copies) - left, total, done, tuple(waiting))


class Tracker:
    """Looks at the moves until all are over."""

    def __init__(
        self,
        direct: DirectCluster,
        copies: Mapping[TopicPartition, Sequence[int]],
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.direct = direct
        self.copies = copies
        self._now, self._sleep = now, sleep

    def look(self) -> Standing:
        ongoing = list_reassignments(self.direct, self.copies)
        view = look_at_brokers(self.direct)
        dead = [broker.id for broker in view.brokers.values() if broker.fenced]
        return standing(self.copies, ongoing, self._stored(view), dead)

    def _stored(self, view: ClusterView) -> dict[int, Stored]:
        filling = [place for place, adding in self.copies.items() if adding]
        return look_at_log_dirs(self.direct, view.alive, filling) if filling else {}

    def follow(self, show: Callable[[Standing], None]) -> Standing:
        """Until nothing is left to do. Brokers that restart meanwhile are waited for."""
        heard = self._now()
        while True:
            try:
                found = self.look()
            except CliError as error:
                is_passing = error.code in (Exit.UNREACHABLE, Exit.TIMED_OUT)
                if not is_passing or self._now() - heard > PATIENCE_S:
                    raise
            else:
                heard = self._now()
                show(found)
                if found.finished:
                    return found
            self._sleep(INTERVAL_S)


def follow_on_screen(tracker: Tracker) -> Standing:
    return _with_bar(tracker) if sys.stderr.isatty() else _with_lines(tracker)


def _with_bar(tracker: Tracker) -> Standing:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

    columns: list[Any] = [
        BarColumn(),
        TextColumn("{task.description}"),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(found: Standing) -> None:
            by_bytes = found.bytes_total > 0
            bar.update(
                task,
                description=found.text(),
                total=found.bytes_total if by_bytes else found.partitions,
                completed=found.bytes_done if by_bytes else found.partitions_done,
            )

        return tracker.follow(show)


def _with_lines(tracker: Tracker, now: Callable[[], float] = time.monotonic) -> Standing:
    shown_at: list[float] = []

    def show(found: Standing) -> None:
        if not shown_at or now() - shown_at[-1] >= LINE_EVERY_S or found.finished:
            shown_at.append(now())
            note(found.text())

    return tracker.follow(show)

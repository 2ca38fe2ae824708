"""`tidelog queue stats`: how full queues are, and how fast they fill and empty."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.group.names import complete_group
from tidelog.cli.group.target import now_ms
from tidelog.cli.output import print_table
from tidelog.cli.queue.looking import find_queue, list_queues
from tidelog.cli.queue.rates import Rates, depth_of, rates
from tidelog.cli.queue.standing import Queue, deliveries, summary
from tidelog.cli.queue.tables import age_text, deliveries_text
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.watch import show, watch_options

SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Measured:
    queue: Queue
    rates: Rates

    def as_json(self) -> dict[str, Any]:
        return {
            **summary(self.queue, now_ms()),
            "delivery_counts": {str(count): n for count, n in deliveries(self.queue.partitions).items()},
            "incoming_per_s": self.rates.incoming,
            "done_per_s": self.rates.done,
            "empty_in_ms": self.rates.empty_in_ms(depth_of(self.queue)),
        }


@dataclass(slots=True)
class Meter:
    """Looks at queues, and compares with the last look."""

    direct: DirectCluster
    names: Sequence[str]
    _last: dict[str, tuple[Queue, float]] = field(default_factory=dict)

    def look(self) -> list[Measured]:
        found = (
            [find_queue(self.direct, name) for name in dict.fromkeys(self.names)]
            if self.names
            else list_queues(self.direct)
        )
        now = time.monotonic()
        measured = []
        for queue in found:
            last = self._last.get(queue.name)
            measured.append(
                Measured(queue, Rates() if last is None else rates(last[0], queue, now - last[1]))
            )
        self._last = {queue.name: (queue, now) for queue in found}
        return measured


@click.command(short_help="Show how full queues are, and how fast they empty.")
@click.argument("names", nargs=-1, metavar="[GROUP…]", shell_complete=complete_group)
@click.option(
    "--sample",
    type=click.FloatRange(min=0),
    default=SAMPLE_S,
    metavar="SECONDS",
    help="How long to measure the rates; 0 leaves them out. --watch measures between its updates. "
    f"[default: {SAMPLE_S:g}]",
)
@watch_options
@broker_options
@pass_session
def stats(session: Session, names: tuple[str, ...], sample: float, watch: bool, interval: float) -> None:
    """Show depth, records in flight, oldest age, deliveries and rates; of all queues unless some are named.

    Depth counts the records that are not done. Of them, members hold those in flight, scheduled records are
    not due yet, delayed ones wait for their retry, and dying ones are on their way to the dead-letter topic.
    Of an Apache Kafka cluster, and of a queue without members, only the depth is known.

    \b
    tidelog queue stats
    tidelog queue stats workers --watch
    """
    meter = Meter(DirectCluster(session), names)

    def draw(found: list[Measured]) -> None:
        if found:
            show_stats(found)
        else:
            print(f"No share groups at {session.servers}.")

    if not watch and sample and meter.look():
        time.sleep(sample)
    show(
        session,
        meter.look,
        lambda found: [each.as_json() for each in found],
        draw,
        watch=watch,
        interval_s=interval,
    )


def show_stats(found: Sequence[Measured]) -> None:
    rows = [each.as_json() for each in found]
    print_table(
        (
            "Group",
            ">Depth",
            ">In flight",
            ">Scheduled",
            ">Delayed",
            ">Dying",
            ">Oldest",
            ">In/s",
            ">Done/s",
            ">Empty in",
            "Deliveries",
        ),
        [
            (
                row["group"],
                row["depth"],
                row["in_flight"],
                row["scheduled"],
                row["delayed"],
                row["dying"],
                age_text(row["oldest_age_ms"]),
                _rate(row["incoming_per_s"]),
                _rate(row["done_per_s"]),
                age_text(row["empty_in_ms"]),
                deliveries_text(deliveries(each.queue.partitions)) or None,
            )
            for each, row in zip(found, rows, strict=True)
        ],
    )


def _rate(per_s: float | None) -> str | None:
    if per_s is None:
        return None
    return f"{per_s:,.0f}" if per_s >= 10 or per_s == 0 else f"{per_s:.1f}"

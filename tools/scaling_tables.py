"""Computes the tables of docs/scaling.md from the model of `tidelog plan`; `--check` only compares.

python -m tools.scaling_tables

The words around the tables are written by hand; only what stands between the marks is replaced.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

from tidelog.cli.plan import coefficients as cost
from tidelog.cli.plan.busy import busy, pairs
from tidelog.cli.plan.load import Load
from tidelog.cli.plan.model import Plan, plan
from tidelog.cli.plan.needs import BUSY_MAX
from tidelog.cli.plan.notes import BROKERS_MAX
from tools.pages import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scaling.md"

CORES = (1, 2, 4, 8, 16, 64)
MACHINES = 3
PARTITIONS = 10_000
GIVEN = Load(
    messages_per_second=0,
    message_bytes=1000,
    retention_s=86_400,
    peak=1.0,
    members=100,
    partitions=PARTITIONS,
    network_bytes_per_second=25e9 / 8,
)
"""Of all tables: three replicas, acks=all, one group of 100 consumers, 25 Gbit/s a machine."""
KIB, BATCHES = 1024, (16, 256)


def mark(name: str) -> tuple[str, str]:
    return (
        f"<!-- computed {name}: begin (python -m tools.scaling_tables) -->",
        f"<!-- computed {name}: end -->",
    )


def page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        begin, end = mark(name)
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{PAGE.name} has no place for the table {name!r}: {begin} … {end}")
        text = f"{before}{begin}\n{table()}\n{end}{after}"
    return text


def coefficients() -> str:
    capacity, spread = "`benches/capacity.py`", "`benches/scaling`, spread"
    idle, clients = "`benches/scaling`, idle", "`benches/scaling`, clients"
    metadata = "`benches/scaling`, metadata"
    os_, fsync = cost.ROUND_SECONDS.values()
    plain, tls = cost.CONNECTION_BYTES.values()
    rows = [
        ("a produce request, one replica, `os`", f"{cost.PRODUCE['os'].a_request:g} us", capacity),
        ("the same, `fsync`", f"{cost.PRODUCE['fsync'].a_request:g} us", capacity),
        ("a KiB of it, `os`; `fsync`", f"{_both(cost.PRODUCE)} us", capacity),
        ("a round between a leader and a follower, both sides, `os`", f"{cost.ROUND['os']:g} us", spread),
        ("the same, `fsync`, with the syncs of both", f"{cost.ROUND['fsync']:g} us", spread),
        ("the time of a round, `os`; `fsync`", f"{os_ * 1e3:g} ms; {fsync * 1e3:g} ms", spread),
        ("and for each request in it", f"{cost.COPY_SECONDS * 1e3:g} ms", spread),
        ("a request that is copied in a round", f"{cost.COPY.a_request:g} us", spread),
        ("a KiB of it", f"{cost.COPY.a_kib:g} us", capacity),
        ("a fetch of a consumer", f"{cost.FETCH.a_request:g} us", capacity),
        ("a KiB of it", f"{cost.FETCH.a_kib:g} us", capacity),
        ("a fetch of a consumer that waits in vain", f"{cost.POLL:g} us", clients),
        ("a broker without load, a second", f"{cost.BROKER / 1e3:g} ms", idle),
        ("the controller for each broker, a second", f"{cost.CONTROLLER / 1e3:g} ms", idle),
        ("memory of a broker", f"{cost.BROKER_BYTES / 1e6:g} MB", idle),
        ("in each broker for each other one", f"{cost.IMAGE_BYTES['broker'] / 1e3:g} kB", idle),
        ("in each broker for each partition", f"{cost.IMAGE_BYTES['partition']:g} B", metadata),
        ("of a replica", f"{cost.PARTITION_BYTES / 1e3:g} kB", capacity),
        ("of a connection; with TLS", f"{plain / 1e3:g} kB; {tls / 1e3:g} kB", clients),
    ]  # fmt: skip
    return _table(("what", "cost", "measured by"), rows)


def _both(costs: Mapping[str, cost.Cost]) -> str:
    return "; ".join(f"{one.a_kib:g}" for one in costs.values())


def cores() -> str:
    """What three machines carry, all of them up, each core busy to BUSY_MAX: CPU alone."""
    rows = []
    for count, durability, batch in product((PARTITIONS, None), ("os", "fsync"), BATCHES):
        load = replace(GIVEN, batch_bytes=batch * KIB, durability=durability)
        rates = {
            number: carried(replace(load, cores=number, partitions=count or MACHINES * number))
            for number in CORES
        }
        shares = [f"{_round(rates[number])} ({rates[number] / rates[1] / number:.0%})" for number in CORES]
        spread = f"{count:,}" if count else "one for each core"
        rows.append((f"{spread}, `{durability}`, {batch} KiB", *shares))
    heads = [f"{number} core{'s' * (number > 1)}" for number in CORES]
    return _table(("partitions, durability, request", *heads), rows)


def _round(rate: float) -> str:
    """To two digits: the model knows no more."""
    return f"{float(f'{rate:.2g}'):,.0f}"


def carried(load: Load) -> float:
    """Messages a second at which MACHINES are busy to BUSY_MAX."""
    low, high = 0.0, 1e9
    for _ in range(60):
        middle = (low + high) / 2
        used = busy(replace(load, messages_per_second=middle), MACHINES).cores
        low, high = (middle, high) if used < BUSY_MAX * MACHINES * load.cores else (low, middle)
    return low


def machines() -> str:
    rows = []
    columns = list(product(BATCHES, (1, 16, 64)))
    for size, rate in product((100, 1000), (1e6, 2e6, 5e6, 10e6)):
        load = replace(GIVEN, messages_per_second=rate, message_bytes=size)
        plans = [plan(replace(load, batch_bytes=batch * KIB, cores=count)) for batch, count in columns]
        rows.append((f"{rate / 1e6:g} M/s of {size:,} B", *map(_cell, plans)))
    heads = [f"{batch} KiB, {count} core{'s' * (count > 1)}" for batch, count in columns]
    return _table(("load", *heads), rows)


def _cell(found: Plan) -> str:
    too_many = " †" * (found.brokers > BROKERS_MAX)
    return f"{found.machines:,}{too_many} ({found.limit})"


def partitions() -> str:
    rows = []
    for count in CORES:
        found = plan(replace(GIVEN, messages_per_second=10_000, cores=count))
        quiet = busy(replace(GIVEN, cores=count), found.machines)
        fetches = pairs(replace(GIVEN, cores=count), found.machines) / found.brokers
        rows.append(
            (
                count,
                found.machines,
                found.limit,
                found.replicas_per_broker,
                f"{fetches:.0f}",
                f"{(quiet.idling + quiet.copying) / found.brokers:.1%}",
                f"{found.process_bytes / 1e9:.1f} GB",
            )
        )
    heads = ("cores of a machine", "machines", "limit", "replicas on a core", "leaders that a core follows")
    return _table((*heads, "CPU of a core without load", "memory of a machine's brokers"), rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "coefficients": coefficients,
    "cores": cores,
    "machines": machines,
    "partitions": partitions,
}


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(run({PAGE: page}, sys.argv[1:]))

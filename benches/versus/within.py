"""Tidelog beside itself: two cores beside one, and `fsync` beside the page cache."""

from datetime import UTC, datetime
from typing import Any

from benches import cores, group_commit
from benches.rig.report import machine
from benches.versus.page import cell, goal, put
from benches.versus.results import ROOT, commit, row

FILE = ROOT / "docs" / "benchmarks" / "within.json"
BEGIN, END = "<!-- within: begin (written by make bench) -->", "<!-- within: end -->"
HEADING = "Tidelog beside itself: cores, and the shared sync"

HOW = """\
The ratio is a multiple of the first side. Prebuilt requests from generators in C, each connection with
one unanswered: the load is as high as the answers allow, so p99 is that of a saturated machine. *Cores*:
`tidelog up --cores`, 8 partitions, durability `os`, two generators, which share the machine with the brokers:
with two cores they are the limit, see [scaling](scaling.md#two-cores-measured).
*Shared sync*: one broker, requests in turn to all partitions."""


def measure(rounds: int, scale: float) -> dict[str, Any]:
    sides = (
        (cores.compare(rounds, scale), cores.TWO, cores.ONE),
        (group_commit.compare_all(rounds), group_commit.FSYNC, group_commit.OS),
    )
    return {
        "machine": machine(),
        "commit": commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "rounds": rounds,
        "workloads": [
            row(name, figures, ours, theirs) | {"sides": [theirs, ours]}
            for found, ours, theirs in sides
            for name, figures in found
        ],
    }


def table(results: dict[str, Any]) -> str:
    lines = [
        f"{results['machine']}; commit {results['commit']}, {results['when']}; {results['rounds']} rounds in "
        "alternation. Medians, and in brackets the least and the most.",
        "",
        HOW,
        "",
        "| workload | figure | first side | second side | ratio | goal |",
        "|---|---|---|---|---|---|",
    ]
    for workload in results["workloads"]:
        for figure in workload["figures"]:
            cells = " | ".join(f"{side}: {cell(figure, side)}" for side in workload["sides"])
            ratio = f"**{figure['ratio']:.2f}**" if figure["ratio"] is not None else ""
            unit = f"{figure['name']}, {figure['unit']}"
            lines.append(
                f"| {workload['name']} | {unit} | {cells} | {ratio} | {goal(figure, 'goal', 'met')} |"
            )
    return "\n".join(lines)


def update(results: dict[str, Any]) -> None:
    put(table(results), BEGIN, END, HEADING)

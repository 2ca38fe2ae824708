"""The table of queues in docs/benchmarks.md."""

from typing import Any

from benches.versus.page import cell, put
from benches.versus.results import ROOT

FILE = ROOT / "docs" / "benchmarks" / "queues.json"
BEGIN, END = "<!-- queues: begin (written by make bench) -->", "<!-- queues: end -->"
HEADING = "Queues: beside Apache Kafka's share groups and RabbitMQ's quorum queues"
SYSTEMS = ("Tidelog", "Apache Kafka", "RabbitMQ quorum queues")

HOW = """\
One server each, one partition or one queue, messages of 100 B, all three up side by side. Tidelog and
Apache Kafka use the page cache (`os`) or sync before they acknowledge (`fsync`); RabbitMQ syncs in both.

*Drain*: four workers take what is there and acknowledge many together. They fetch 500 messages at a time,
which is what clients do by default, or 2,500, for which the group may lock 10,000 records of a partition.
*Workers*: 50 of them, each with a connection of its own, take single messages as they are sent, and
acknowledge each; p50 and p99 are from the moment a message was due to be sent until its worker has it,
and *served* is less than was sent where a queue grew meanwhile. The clients are loops of our own over
sockets, the same for Tidelog and Apache Kafka: they decode no more than they must. The consumer group's
rate, of the same messages, is that of librdkafka."""


def update(results: dict[str, Any]) -> None:
    put(table(results), BEGIN, END, HEADING)


def table(results: dict[str, Any]) -> str:
    lines = [
        f"{results['machine']}; commit {results['commit']}, {results['when']}; {results['rounds']} rounds in "
        "alternation after one that is not counted. Medians, and in brackets the least and the most. "
        f"RabbitMQ {results['version'] or 'was not installed'}.",
        "",
        HOW,
        "",
        f"| workload | figure | {' | '.join(SYSTEMS)} | ratio to Kafka |",
        "|---" * (len(SYSTEMS) + 3) + "|",
    ]
    for workload in results["workloads"]:
        for figure in workload["figures"]:
            cells = " | ".join(cell(figure, name) for name in SYSTEMS)
            ratio = f"**{figure['ratio']:.2f}**" if figure["ratio"] is not None else ""
            lines.append(f"| {workload['name']} | {figure['name']}, {figure['unit']} | {cells} | {ratio} |")
    lines += [f"\nFailed: {what}: {why}" for what, why in results["failed"].items()]
    return "\n".join(lines)

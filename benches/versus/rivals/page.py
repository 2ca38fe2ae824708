"""The rivals' table of docs/benchmarks.md: four systems side by side, without goals."""

from typing import Any

from benches.versus.page import cell, put
from benches.versus.results import ROOT

FILE = ROOT / "docs" / "benchmarks" / "rivals.json"
BEGIN, END = "<!-- rivals: begin (written by make bench) -->", "<!-- rivals: end -->"
HEADING = "Beside NATS JetStream and RabbitMQ streams"
SYSTEMS = ("Tidelog", "Apache Kafka", "NATS JetStream", "RabbitMQ streams")

HOW = """\
One server each, one stream or partition on file, every message confirmed (acks=1), all four up side by side.
Durability is each one's default: the page cache for Tidelog (`os`), Apache Kafka and RabbitMQ streams, and
for JetStream the page cache with a sync every two minutes.

Tidelog and Apache Kafka are loaded by librdkafka, with as much in flight as it has by default, and it hands
over each message that it reads. The other two are loaded by loops of our own over a socket: they send
prebuilt bytes, keep at most 10,000 messages unconfirmed, and count what they read without looking into it.
So the rates on the left and on the right are those of different clients, of which librdkafka does far more
for each message. The server's CPU compares better, though it too depends on how much comes at once:
librdkafka fills batches, RabbitMQ is sent 500 messages in a frame, and NATS takes and confirms each one by
itself, since its protocol has no batches."""


def update(results: dict[str, Any]) -> None:
    put(table(results), BEGIN, END, HEADING)


def table(results: dict[str, Any]) -> str:
    versions = results["versions"]
    names = [f"{name} {versions.get(name, '')}".strip() for name in SYSTEMS]
    lines = [
        f"{results['machine']}; commit {results['commit']}, {results['when']}; {results['rounds']} rounds in "
        "alternation after one that is not counted. Medians, and in brackets the least and the most.",
        "",
        HOW,
        "",
        f"| workload | figure | {' | '.join(names)} |",
        "|---" * (len(names) + 2) + "|",
    ]
    for workload in results["workloads"]:
        for figure in workload["figures"]:
            cells = " | ".join(cell(figure, name) for name in SYSTEMS)
            lines.append(f"| {workload['name']} | {figure['name']}, {figure['unit']} | {cells} |")
    lines += [f"\n{line}." for line in results["missing"]]
    lines += [f"\nFailed: {what}: {why}" for what, why in results["failed"].items()]
    return "\n".join(lines)

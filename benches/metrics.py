"""What metrics cost: a scrape, a request, and an idle broker, each with metrics and without in one run.

    python -m benches.metrics [--partitions N] [--rounds N]

The scrape is that of a real broker with many partitions, with their sums alone, as above
`metrics.partitions.max`, and with all of them in detail; beside it the time that prometheus_client takes for
as many series. Aims: 50 ms of CPU for 10,000 partitions, no turn of the loop longer than 5 ms, under 1 us for
a request.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from benches.authorization import Bench, compare_all
from benches.rig.report import machine, show
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.server.garbage import ShortCollections
from tidelog.server.http.scrape import Form, Scrape
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

TOPICS = 10
SCRAPES = 10
STARTS = 5


async def watched_scrape(broker_node: Any, form: Form) -> tuple[float, float, int]:
    """Returns the CPU time of a scrape, the longest turn of the loop meanwhile, and the bytes of its text."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()  # other processes on this machine are no fault of the scrape
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    scrape = Scrape(broker_node.services.collectors)
    text = await scrape.text(form)
    watching.cancel()
    return scrape.cpu_seconds, longest, sum(map(len, text))


def scrapes(partitions: int, details: bool) -> int:
    """Returns the number of samples on a page."""
    most = partitions + 10_000 if details else 0
    settings: dict[str, Any] = {"metrics.port": -1, "metrics.partitions.max": most}
    with Broker(settings=settings) as broker:
        life = broker._running()
        node, loop = life.node, life._loop
        assert loop is not None

        async def create() -> None:
            topics = [
                CreatableTopic(
                    name=f"orders-{number}", num_partitions=partitions // TOPICS, replication_factor=1
                )
                for number in range(TOPICS)
            ]
            request = CreateTopicsRequest(topics=topics, timeout_ms=300_000)
            await node.services.forwarding.ask_controller(ApiKey.CREATE_TOPICS, 7, request)

        asyncio.run_coroutine_threadsafe(create(), loop).result(600)
        while len(node.services.partitions) < partitions:
            time.sleep(0.1)
        collections = ShortCollections()  # as in a process that is a broker
        collections.begin()
        what = f"{partitions:,} partitions{'' if details else ', sums alone'}"
        for name, form in (("plain", Form(False, False)), ("gzip", Form(False, True))):
            results = [
                asyncio.run_coroutine_threadsafe(watched_scrape(node, form), loop).result(60)
                for _ in range(SCRAPES)
            ]
            cpu, turns, sizes = zip(*results, strict=True)
            aim = None if details else 50  # by default, so many partitions are sums alone
            show(f"{what}, {name}: CPU of a scrape, best", min(cpu) * 1e3, "ms", at_most=aim)
            show(f"{what}, {name}: CPU of a scrape, median", statistics.median(cpu) * 1e3, "ms")
            show(f"{what}, {name}: longest turn, median", statistics.median(turns) * 1e3, "ms", at_most=5)
            show(f"{what}, {name}: text", sizes[0] / 2**20, "MiB")

        async def count() -> int:
            text = await Scrape(node.services.collectors).text(Form(False, False))
            return sum(line[:1] != b"#" for piece in text for line in piece.splitlines())

        samples = asyncio.run_coroutine_threadsafe(count(), loop).result(60)
        collections.end()
        return samples


def by_prometheus_client(samples: int) -> None:
    registry, families = CollectorRegistry(), 7
    for number in range(families):
        gauge = Gauge(f"family_{number}", "As many series.", ["topic", "partition"], registry=registry)
        for partition in range(samples // families):
            gauge.labels(f"orders-{partition % TOPICS}", partition).set(partition)
    spent = []
    for _ in range(3):
        began = time.thread_time()
        generate_latest(registry)
        spent.append(time.thread_time() - began)
    show(f"prometheus_client: CPU for {samples:,} series, in one turn", min(spent) * 1e3, "ms")


async def requests(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        measured = Bench(f"{directory}/orders-1", None, RequestMetrics())
        compare_all(rounds, [Bench(f"{directory}/orders-0", None), measured], "metrics")


def start_up() -> None:
    for name, port in (("without", "0"), ("with", "-1")):
        starts = [_start(port) for _ in range(STARTS)]
        show(f"{name} metrics: start-up, best", min(seconds for seconds, _ in starts) * 1e3, "ms")
        show(f"{name} metrics: idle memory, median", statistics.median(size for _, size in starts), "MiB")


def _start(port: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as directory:
        ready = Path(directory) / "ready.json"
        command = [sys.executable, "-c", "from tidelog.cli.main import main; main()", "up", "--port", "0"]
        command += [
            "--data",
            f"{directory}/data",
            "--ready-file",
            str(ready),
            "--set",
            f"metrics.port={port}",
        ]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while not ready.exists():
            time.sleep(0.002)
        seconds = time.perf_counter() - began
        json.loads(ready.read_text())
        time.sleep(0.5)
        size = psutil.Process(process.pid).memory_info().rss / 2**20
        process.terminate()
        process.wait()
        return seconds, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20_000)
    arguments = parser.parse_args()
    print(machine())
    asyncio.run(requests(arguments.rounds))
    start_up()
    scrapes(arguments.partitions, details=False)
    by_prometheus_client(scrapes(arguments.partitions, details=True))


if __name__ == "__main__":
    main()

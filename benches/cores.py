"""What a second core brings: rate, CPU and latency of produce requests, with --cores 2 against 1.

    python -m benches.cores [--rounds N]

Each core's partitions get the load of a generator of their own, in C; with one core both generators share it.
On a machine with two cores the generators compete with the brokers: their CPU is shown beside.
"""

import argparse
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benches.rig.broker_process import environment, tidelog, work_folder
from benches.rig.cluster_process import Address, RunningCluster
from benches.rig.frames import (
    batch_of,
    call,
    create_topic,
    delete_topic,
    end_offset,
    produce_frame,
    records_in,
)
from benches.rig.load import Load, answer_size, replay
from benches.rig.report import machine, show
from benches.versus.figures import Figure, Rounds
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

TOPIC, PARTITIONS, GENERATORS = "bench", 8, 2
METADATA_VERSION = 9
KINDS = (("one record", 200, 120_000, 8), ("16 KiB", 16 * 1024, 24_000, 4))
"""Name, bytes of a batch, requests in a round, and connections of each generator."""
PORTS = {1: 19400, 2: 19410}


ONE, TWO = "1 core", "2 cores"
FIGURES = (
    Figure("rate", "requests/s", True),
    Figure("broker CPU", "us/request", False),
    Figure("p99", "ms", False),
    Figure("generator's CPU", "us/request", False),
    Figure("brokers and generators together", "cores busy", False),
)


class Round(NamedTuple):
    """In the order of FIGURES."""

    rate: float
    broker_us: float
    p99_ms: float
    generator_us: float
    cores_busy: float
    """Near the cores of the machine: it is full, and a faster broker would not show in the rate."""


@contextmanager
def running_cores(cores: int) -> Iterator[RunningCluster]:
    folder = tempfile.mkdtemp(prefix="tidelog-bench-", dir=work_folder())
    ready = Path(folder) / "ready"
    command = [*tidelog(), "up", "--cores", str(cores), "--data", f"{folder}/data", "--set=durability=os"]
    command += ["--set=metrics.port=0", "--set=schema.registry.port=0", "--port", str(PORTS[cores])]
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], env=environment(), stdout=log, stderr=log
        )
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError(f"the machine did not start:\n{Path(folder, 'log').read_text()}")
            time.sleep(0.05)
        yield RunningCluster(json.loads(ready.read_text()), process, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def leaders(address: Address) -> dict[int, Address]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    answer = call(address, ApiKey.METADATA, METADATA_VERSION, request)
    brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    return {one.partition_index: brokers[one.leader_id] for one in answer.topics[0].partitions}


def one_round(running: RunningCluster, size: int, count: int, connections: int) -> Round:
    create_topic(running.address, TOPIC, PARTITIONS)
    time.sleep(0.3)  # every core has heard of it
    led = leaders(running.address)
    batch = batch_of(size)
    loads = []
    for partitions in _halves(led):
        frames = [produce_frame(TOPIC, batch, partition=partition) for partition in partitions]
        where = led[partitions[0]]
        answer = answer_size(where, frames[0])
        for partition, frame in zip(partitions[1:], frames[1:], strict=True):
            answer_size(led[partition], frame)
        share = Load(b"".join(frames), count // GENERATORS, answer, connections, 1, kinds=len(frames))
        loads.append((where, share))
    before, began = running.cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(GENERATORS) as threads:
        done = list(threads.map(lambda pair: replay(*pair), loads))
    seconds, cpu = time.perf_counter() - began, running.cpu_seconds() - before
    written = sum(end_offset(led[partition], TOPIC, partition) for partition in led) // records_in(batch)
    delete_topic(running.address, TOPIC)
    if written != count + PARTITIONS:
        raise RuntimeError(f"{written} batches are in the logs, {count + PARTITIONS} were sent")
    generator = sum(one.cpu for one in done)
    p99 = max(one.p99_ms for one in done)
    used = (cpu + generator) / seconds
    return Round(count / seconds, cpu / count * 1e6, p99, generator / count * 1e6, used)


def _halves(led: dict[int, Address]) -> list[list[int]]:
    """The partitions of each generator, by their leaders where there are two."""
    in_order = sorted(led, key=lambda partition: (led[partition][1], partition))
    return [in_order[: PARTITIONS // 2], in_order[PARTITIONS // 2 :]]


def compare(rounds: int, scale: float = 1.0) -> Iterator[tuple[str, list[Rounds]]]:
    """A workload after the other: its name, and what the rounds of one core and of two brought."""
    with running_cores(1) as one, running_cores(2) as two:
        for name, size, count, connections in KINDS:
            found = [Rounds(figure) for figure in FIGURES]
            for number in range(rounds + 1):
                for side, running in ((ONE, one), (TWO, two)):
                    round_ = one_round(running, size, int(count * scale), connections)
                    if number:  # the first one warms up
                        for rounds_of, value in zip(found, round_, strict=True):
                            rounds_of.add(side, value)
            yield f"{name} requests, acks=1, {GENERATORS * connections} connections", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    for name, found in compare(options.rounds):
        for figure in found:
            for side, value in figure.medians().items():
                show(f"{name}, {side}: {figure.figure.name}", value, figure.figure.unit)
            show(f"{name}, {TWO} : {ONE}: {figure.figure.name}", figure.ratio(TWO, ONE) or 0.0, "")


if __name__ == "__main__":
    main()

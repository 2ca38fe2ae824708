"""Creating and deleting many topics at once: what other requests have to wait for it.

    python -m benches.many_topics [--topics 300] [--partitions 4]

Three brokers, three replicas, `fsync`. Beside it a producer sends one small record after the other with
acks=all. Shown are its latencies and the longest turns of each broker's event loop.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benches.rig.broker_process import environment, work_folder

BROKERS = 3
WATCH = str(Path(__file__).parent / "rig" / "turn_watch.py")


class Member:
    def __init__(self, id: int, port: int, voters: str, folder: str) -> None:
        self.id = id
        self.report = f"{folder}/{id}.turns"
        self.ready = Path(folder, f"{id}.ready")
        settings = {"node.id": id, "controller.quorum.voters": voters, "event.loop": "asyncio"}
        pairs = [f"--set={name}={value}" for name, value in settings.items()]
        command = [sys.executable, WATCH, self.report, "up", f"--data={folder}/{id}", f"--port={port}"]
        with open(f"{folder}/{id}.log", "wb") as log:
            self.process = subprocess.Popen(
                [*command, f"--ready-file={self.ready}", *pairs], env=environment(), stdout=log, stderr=log
            )

    def forget(self) -> None:
        self.process.send_signal(signal.SIGUSR1)

    def turns(self) -> dict[str, object]:
        Path(self.report).unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR2)
        while True:
            try:
                told: dict[str, object] = json.loads(Path(self.report).read_text())
                return told
            except (FileNotFoundError, ValueError):
                time.sleep(0.05)


class Beside:
    """One record after the other, each when the one before is acknowledged."""

    def __init__(self, servers: str) -> None:
        self.waits_ms: list[float] = []
        self._stop = False
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": "all"})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop:
            began = time.monotonic()
            self._producer.produce("beside", b"x" * 100)
            self._producer.flush()
            self.waits_ms.append((time.monotonic() - began) * 1000)
            time.sleep(0.005)

    def end(self) -> list[float]:
        self._stop = True
        self._thread.join()
        return sorted(self.waits_ms)


def measure(what: str, members: list[Member], servers: str, work: Callable[[], None], where: bool) -> None:
    for member in members:
        member.forget()
    beside = Beside(servers)
    time.sleep(0.5)
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    time.sleep(1.0)
    waits = beside.end()
    p99 = waits[int(len(waits) * 0.99)]
    print(
        f"{what}: {took:.2f} s; beside it {len(waits)} records: median {statistics.median(waits):.1f} ms, "
        f"p99 {p99:.1f} ms, longest {waits[-1]:.1f} ms"
    )
    for member in members:
        told = member.turns()
        print(f"  broker {member.id}: longest turns {told['cpu_ms']} ms of CPU, {told['wall_ms']} ms in all")
        print(f"    longest garbage collections, ms and generation: {told['gc_ms']}")
        if where:
            print(json.dumps(told["where"], indent=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--where", action="store_true", help="show where the longest turns were spent")
    parser.add_argument("--one-by-one", action="store_true", help="a request for each topic, all at once")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tidelog-bench-", dir=work_folder())
    ports = {id: 29_400 + os.getpid() % 500 * 4 + id for id in range(1, BROKERS + 1)}
    voters = ",".join(f"{id}@127.0.0.1:{port}" for id, port in ports.items())
    servers = ",".join(f"127.0.0.1:{port}" for port in ports.values())
    members = [Member(id, port, voters, folder) for id, port in ports.items()]
    try:
        while not all(member.ready.exists() for member in members):
            time.sleep(0.05)
        admin = AdminClient({"bootstrap.servers": servers})
        names = [f"many-{number}" for number in range(options.topics)]
        topics = [NewTopic(name, options.partitions, BROKERS) for name in names]

        def settle(futures: dict[str, object]) -> None:
            for future in futures.values():
                future.result(120)  # type: ignore[attr-defined]

        def create(some: list[NewTopic]) -> dict[str, object]:
            found: dict[str, object] = admin.create_topics(some, request_timeout=120)
            return found

        def delete(some: list[str]) -> dict[str, object]:
            found: dict[str, object] = admin.delete_topics(some, request_timeout=120)
            return found

        settle(create([NewTopic("beside", 3, BROKERS)]))
        measure("at rest", members, servers, lambda: time.sleep(2), False)
        if options.one_by_one:

            def create_all() -> None:
                for asked in [create([topic]) for topic in topics]:
                    settle(asked)

            def delete_all() -> None:
                for asked in [delete([name]) for name in names]:
                    settle(asked)
        else:

            def create_all() -> None:
                settle(create(topics))

            def delete_all() -> None:
                settle(delete(names))

        measure("create", members, servers, create_all, options.where)
        measure("delete", members, servers, delete_all, options.where)
    finally:
        for member in members:
            member.process.terminate()
        for member in members:
            member.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

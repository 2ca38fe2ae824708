"""A cluster of three with many partitions: what it weighs, how fast it changes, and how soon it is led again.

    python -m benches.failover [--partitions N]

The controller is killed with SIGKILL. Failover is the time from there until another broker has created a
topic: the failure is noticed, a controller is elected, and a change is agreed on and answered.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benches.rig.broker_process import environment, tidelog, work_folder
from benches.rig.frames import call
from benches.rig.report import machine, show
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest
from tidelog.wire.messages.metadata import MetadataRequest

Address = tuple[str, int]
PARTITIONS_PER_TOPIC = 100
BROKERS = 3


class Member:
    """One broker process of the cluster."""

    def __init__(self, id: int, port: int, voters: str, folder: str) -> None:
        self.id = id
        self.address: Address = ("127.0.0.1", port)
        settings = {
            "node.id": id,
            "controller.quorum.voters": voters,
            "durability": "os",
            "default.replication.factor": BROKERS,
            "metrics.port": 0,
            "schema.registry.port": 0,
        }
        pairs = [f"--set={name}={value}" for name, value in settings.items()]
        self.ready = Path(folder, f"{id}.ready")
        with open(f"{folder}/{id}.log", "wb") as log:
            self.process = subprocess.Popen(
                [
                    *tidelog(),
                    "up",
                    f"--data={folder}/{id}",
                    f"--port={port}",
                    f"--ready-file={self.ready}",
                    *pairs,
                ],
                env=environment(),
                stdout=log,
                stderr=log,
            )

    @property
    def megabytes(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def cluster(first_port: int = 29_300) -> Iterator[dict[int, Member]]:
    folder = tempfile.mkdtemp(prefix="tidelog-bench-", dir=work_folder())
    ports = {id: first_port + id for id in range(1, BROKERS + 1)}
    voters = ",".join(f"{id}@127.0.0.1:{port}" for id, port in ports.items())
    members = {id: Member(id, port, voters, folder) for id, port in ports.items()}
    try:
        for member in members.values():
            while not member.ready.exists():
                if member.process.poll() is not None:
                    raise RuntimeError(Path(folder, f"{member.id}.log").read_text())
                time.sleep(0.05)
        yield members
    finally:
        for member in members.values():
            if member.process.poll() is None:
                member.kill()
        shutil.rmtree(folder, ignore_errors=True)


def create(address: Address, name: str, partitions: int) -> ErrorCode:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    [made] = call(address, ApiKey.CREATE_TOPICS, 7, request).topics
    return ErrorCode.of(made.error_code)


def without_leader(address: Address) -> int:
    answer = call(address, ApiKey.METADATA, 12, MetadataRequest(topics=None))
    return sum(p.leader_id < 0 for topic in answer.topics for p in topic.partitions)


def led_by(address: Address, broker: int) -> int:
    answer = call(address, ApiKey.METADATA, 12, MetadataRequest(topics=None))
    return sum(p.leader_id == broker for topic in answer.topics for p in topic.partitions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    wanted = parser.parse_args().partitions
    print(machine())
    with cluster() as members:
        address = members[1].address
        took = []
        for number in range(wanted // PARTITIONS_PER_TOPIC):
            began = time.perf_counter()
            code = create(address, f"topic-{number}", PARTITIONS_PER_TOPIC)
            took.append(time.perf_counter() - began)
            # A change that was asked for again, since the controller changed meanwhile, may be there already.
            if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                raise RuntimeError(f"topic {number}: {code.name}")
            print(f"\r{(number + 1) * PARTITIONS_PER_TOPIC} partitions", end="", flush=True)
        print()
        show(f"a topic of {PARTITIONS_PER_TOPIC} partitions created, the first", took[0], "s", at_most=1)
        show(f"a topic of {PARTITIONS_PER_TOPIC} partitions created, the last", took[-1], "s", at_most=1)
        time.sleep(5)
        for member in members.values():
            show(
                f"memory of broker {member.id} with {wanted} partitions", member.megabytes, "MB", at_most=300
            )
        controller = call(address, ApiKey.DESCRIBE_CLUSTER, 1, DescribeClusterRequest()).controller_id
        other = next(member for id, member in members.items() if id != controller)
        members[controller].kill()
        began = time.perf_counter()
        number = 0
        while create(other.address, f"after-{number}", 1) is not ErrorCode.NONE:
            number += 1
        show(
            "controller killed: another one has created a topic", time.perf_counter() - began, "s", at_most=3
        )
        while led_by(other.address, controller) or without_leader(other.address):
            time.sleep(0.05)
        elapsed = time.perf_counter() - began
        show("broker killed: every partition is led again (session of 9 s)", elapsed, "s")
        print(json.dumps({"partitions": wanted, "create_s": [round(took[0], 3), round(took[-1], 3)]}))


if __name__ == "__main__":
    main()

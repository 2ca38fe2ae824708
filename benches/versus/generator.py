"""The load generator: load.c, compiled once against the librdkafka that the Python client brings."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import confluent_kafka

from benches.rig.compiled import compiled

HERE = Path(__file__).parent


class Run(NamedTuple):
    """What one run of the generator printed."""

    messages: int
    seconds: float
    cpu: float
    extra: dict[str, float]

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


def produce(
    servers: str, topic: str, partitions: int, size: int, count: int, *, settings: dict[str, str]
) -> Run:
    return _run("produce", servers, topic, partitions, size, count, settings=settings)


def consume(servers: str, topic: str, partitions: int, count: int, *, settings: dict[str, str]) -> Run:
    return _run("consume", servers, topic, partitions, count, settings=settings)


def latency(
    servers: str, topic: str, rate: int, seconds: float, size: int, *, settings: dict[str, str]
) -> Run:
    return _run("latency", servers, topic, rate, seconds, size, settings=settings)


def start(command: str, *arguments: object, settings: dict[str, str]) -> "subprocess.Popen[str]":
    pairs = [f"{name}={value}" for name, value in settings.items()]
    return subprocess.Popen(
        [str(program()), command, *map(str, arguments), *pairs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> Run:
    out, complaint = process.communicate()
    if process.returncode:
        raise RuntimeError(complaint.strip())
    said = json.loads(out)
    return Run(said.pop("messages"), said.pop("seconds"), said.pop("cpu"), said)


def _run(command: str, *arguments: object, settings: dict[str, str]) -> Run:
    return finished(start(command, *arguments, settings=settings))


def program() -> Path:
    package = Path(confluent_kafka.__file__).parent
    [library] = package.with_name("confluent_kafka.libs").glob("librdkafka*.so*")
    return compiled(HERE / "load.c", library)

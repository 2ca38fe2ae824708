"""Clients of a schema registry in other languages, each a small program that is built on its first use.

A program takes the brokers, the registry, a command, a topic and a number, and prints its answer as JSON.

Java runs Confluent's own KafkaAvroSerializer. Confluent does not publish it on Maven Central, but Apache
Pinot does: the shaded jar of its plugin `pinot-confluent-avro` holds Confluent's serializers and registry
client under their own names, together with Apache Kafka's client and Avro.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.kafka_jars import CACHE, JVM, lock, missing_tool, run

HERE = Path(__file__).parent
PATIENCE_S = 60.0


class Program(NamedTuple):
    name: str
    missing: Callable[[], str | None]
    command: Callable[[], list[str]]
    """Builds it where it has to be built."""
    environment: Callable[[], dict[str, str]] = dict

    def ask(self, bootstrap: str, url: str, do: str, topic: str, number: int = 0) -> Any:
        done = subprocess.run(
            [*self.command(), bootstrap, url, do, topic, str(number)],
            env={**os.environ, **self.environment()},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])


def _lacks(*tools: str) -> str | None:
    return next((f"{tool} is not installed" for tool in tools if shutil.which(tool) is None), None)


def _node_modules() -> Path:
    wanted = (HERE / "kafkajs" / "package.json").read_text()
    directory = CACHE / "registry-kafkajs"
    with lock("registry-kafkajs"):
        stamp = directory / "installed.json"
        if not stamp.exists() or stamp.read_text() != wanted:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "package.json").write_text(wanted)
            run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], cwd=directory)
            stamp.write_text(wanted)
    return directory / "node_modules"


def _go_program() -> list[str]:
    program = CACHE / "registry-franz-go"
    with lock("registry-franz-go"):  # go itself sees when nothing has to be built
        run(["go", "build", "-o", str(program), "."], cwd=HERE / "go")
    return [str(program)]


def _confluent_jars() -> Path:
    """A directory that Maven fills on first use."""
    pom = HERE / "java" / "pom.xml"
    directory = CACHE / f"confluent-{hashlib.sha256(pom.read_bytes()).hexdigest()[:8]}"
    if not directory.exists():
        unfinished = directory.with_suffix(".unfinished")
        copy = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        run([*copy, f"-DoutputDirectory={unfinished}"])
        unfinished.rename(directory)
    return directory


def java_program(name: str = "Program") -> list[str]:
    """Returns the command of a program in `java/`, with Confluent's classes on its path."""
    with lock("registry-java"):
        path = f"{_confluent_jars()}/*"
        source = HERE / "java" / f"{name}.java"
        classes = CACHE / "registry-java" / hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        if not classes.exists():
            unfinished = classes.with_suffix(".unfinished")
            run(["javac", "-cp", path, "-d", str(unfinished), str(source)])
            unfinished.rename(classes)
    return [*JVM, "-Xmx256m", "-cp", f"{classes}{os.pathsep}{path}", name]


PROGRAMS = {
    one.name: one
    for one in (
        Program(
            "kafkajs",
            lambda: _lacks("node", "npm"),
            lambda: ["node", str(HERE / "kafkajs" / "program.js")],
            lambda: {"NODE_PATH": str(_node_modules()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        ),
        Program("franz-go", lambda: _lacks("go"), _go_program),
        Program("java", missing_tool, java_program),
    )
}

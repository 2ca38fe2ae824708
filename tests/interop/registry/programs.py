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
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.kafka_jars import CACHE, JVM, lock, run

HERE = Path(__file__).parent
CONFLUENT_JAR = "pinot-confluent-avro-1.5.0-shaded.jar"
JAR_URL = f"maven-central-by-name://maven2/org/apache/pinot/pinot-confluent-avro/1.5.0/{CONFLUENT_JAR}"
JAR_SHA256 = "fcba31945ab17f393008f46975b37dd12516e59f536b0bec5a19ab9fd84464d1"
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


def _confluent_jar() -> Path:
    """Fetched by itself: Maven would look for its parents in Confluent's repository, and fail without it."""
    jar = CACHE / CONFLUENT_JAR
    if not jar.exists():
        with urllib.request.urlopen(JAR_URL, timeout=PATIENCE_S) as answer:
            data = answer.read()
        assert hashlib.sha256(data).hexdigest() == JAR_SHA256, f"{JAR_URL} is another file than expected"
        unfinished = jar.with_suffix(".unfinished")
        unfinished.write_bytes(data)
        unfinished.rename(jar)
    return jar


def java_program(name: str = "Program") -> list[str]:
    """Returns the command of a program in `java/`, with Confluent's classes on its path."""
    with lock("registry-java"):
        jar = _confluent_jar()
        source = HERE / "java" / f"{name}.java"
        classes = CACHE / "registry-java" / hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        if not classes.exists():
            unfinished = classes.with_suffix(".unfinished")
            run(["javac", "-cp", str(jar), "-d", str(unfinished), str(source)])
            unfinished.rename(classes)
    return [*JVM, "-Xmx256m", "-cp", f"{classes}{os.pathsep}{jar}", name]


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
        Program("java", lambda: _lacks("java", "javac"), java_program),
    )
}

"""Planted secrets appear nowhere: not in logs, answers, errors, process lists, plans or checkpoints.

A broker in its own process, commands that succeed and fail, and a pipeline on Spark, all with passwords that
come from the environment, from files and from a context; meanwhile all command lines of the machine are read.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.interop.broker_process import free_port
from tests.interop.waiting import eventually
from tests.spark.conftest import missing
from tidelog.testing.security import SecuredFiles, Security

OF_BROKER, OF_ANN, OF_BOB, WRONG = "planted-broker-1a", "planted-ann-2b", "planted-bob-3c", "planted-wrong-4d"
SECRETS = (OF_BROKER, OF_ANN, OF_BOB, WRONG)
LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="broker" password="{}";'

PIPELINE = """\
name: copy
sources:
  words:
    topic: words
    decode: string
    options: {sasl.username: ann, sasl.password: "${file:ann.properties:password}"}
sinks:
  - {from: words, topic: copied, value: value, delivery: exactly-once}
"""


class Machine:
    """A directory with everything that is written, and the command lines that were seen meanwhile."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.written = directory / "written"
        self.written.mkdir()
        self.command_lines: set[bytes] = set()
        self.environment = {
            name: text for name, text in os.environ.items() if not name.startswith("TIDELOG_")
        }
        self.environment |= {
            "XDG_CONFIG_HOME": str(directory / "config"),
            "TIDELOG_PIPELINES": str(self.written / "pipelines"),
            "SPARK_MASTER": "local[2]",
            "BROKER_PASSWORD": OF_BROKER,
            "WRONG_PASSWORD": WRONG,
        }

    def tidelog(self, *arguments: str, name: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "tidelog.cli.main", *arguments],
            env=self.environment,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        number = len(list(self.written.glob("command-*")))
        (self.written / f"command-{number}-{name}").write_text(f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    @contextmanager
    def watched(self) -> Iterator[None]:
        over = threading.Event()

        def look() -> None:
            while not over.wait(0.05):
                for file in Path("/proc").glob("[0-9]*/cmdline"):
                    try:
                        self.command_lines.add(file.read_bytes())
                    except OSError:
                        continue

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def running_broker(machine: Machine, settings: dict[str, str]) -> Iterator[None]:
    config = machine.directory / "broker.yaml"
    config.write_text(yaml.safe_dump(settings))
    ready = machine.directory / "ready.json"
    command = [sys.executable, "-m", "tidelog.cli.main", "up", "-c", str(config), "--ready-file", str(ready)]
    with (machine.written / "broker.log").open("wb") as log:
        broker = subprocess.Popen(command, env=machine.environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        eventually(ready.exists, 60)
        yield
    finally:
        broker.terminate()
        broker.wait(30)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if (lacking := missing()) is not None:
        pytest.skip(lacking)
    made = Machine(tmp_path)
    files = SecuredFiles(Security("sasl_ssl", users={"ann": OF_ANN, "bob": OF_BOB}))
    port = free_port()
    settings = {
        **files.settings(listener="SASL_SSL"),
        "listeners": f"SASL_SSL://127.0.0.1:{port}",
        "log.dirs": str(made.written / "data"),
        "audit.file": str(made.written / "audit.log"),
        "sasl.jaas.config": LOGIN.format("${env:BROKER_PASSWORD}"),
    }
    (tmp_path / "ann.properties").write_text(f"password={OF_ANN}\n")
    with running_broker(made, settings), made.watched():
        common = ["-b", f"127.0.0.1:{port}", "-X", "security.protocol=SASL_SSL"]
        common += ["-X", "sasl.mechanism=SCRAM-SHA-512", "-X", f"ssl.ca.location={files.ca_file}"]
        ann = [
            "-X",
            "sasl.username=ann",
            "-X",
            "sasl.password=${file:" + str(tmp_path) + "/ann.properties:password}",
        ]
        assert made.tidelog("context", "add", "ann", *common, *ann).returncode == 0
        # Bob's password is in the file of contexts itself, as if an editor had put it there.
        bob = yaml.safe_load((tmp_path / "config/tidelog/contexts.yaml").read_text())
        of_bob = {**bob["contexts"]["ann"], "sasl.username": "bob", "sasl.password": OF_BOB}
        bob["contexts"]["bob"] = of_bob
        (tmp_path / "config/tidelog/contexts.yaml").write_text(yaml.safe_dump(bob))
        yield made
    files.close()


def test_planted_secrets_appear_nowhere(machine: Machine) -> None:
    for topic in ("words", "copied"):
        assert machine.tidelog("topic", "create", topic, "--context", "bob").returncode == 0
    assert machine.tidelog("produce", "words", "hello", "--context", "ann").returncode == 0
    for command in (
        *(["context", "show", "ann"], ["context", "show", "bob", "--json"], ["context", "list"]),
        *(["config", "show", "broker", "--all"], ["config", "show", "broker", "--all", "--json"]),
        *(["cluster", "status"], ["topic", "describe", "words"], ["security", "user", "list"]),
    ):
        assert machine.tidelog(*command).returncode == 0, command
    for command in (["topic", "list"], ["cluster", "status"], ["lake", "sync", "words", "--to", "table"]):
        wrong = machine.tidelog(*command, "--context", "ann", "-X", "sasl.password=${env:WRONG_PASSWORD}")
        assert wrong.returncode == 8, wrong.stderr
    (machine.directory / "copy.yaml").write_text(PIPELINE)
    events = machine.written / "events"
    events.mkdir()
    # The source logs in as Ann, with a variable in the file; the sink as Bob, by the context.
    done = machine.tidelog(
        *("pipeline", "run", "copy.yaml", "--once", "--context", "bob"),
        *("--checkpoint", str(machine.written / "checkpoint")),
        *("-c", "spark.eventLog.enabled=true", "-c", f"spark.eventLog.dir={events}"),
        *("-c", "spark.eventLog.compress=false"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    read = machine.tidelog("consume", "copied", "--context", "bob")
    assert read.stdout.split() == ["hello"]
    assert list(events.iterdir())

    written = [path for path in machine.written.rglob("*") if path.is_file()]
    shown = {
        secret: [str(path) for path in written if secret.encode() in path.read_bytes()] for secret in SECRETS
    }
    assert shown == {secret: [] for secret in SECRETS}
    assert len(machine.command_lines) > 10
    assert not [line for line in machine.command_lines if any(secret.encode() in line for secret in SECRETS)]

"""A cluster of our own brokers: `tidelog up --brokers N` as a process, with all that it says in files."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.interop.broker_process import console_script

PATIENCE_S = 60.0
# The dead are missed soon, and disks don't slow the tests down.
SETTINGS = (
    "durability=os",
    "broker.session.timeout.ms=3000",
    "broker.heartbeat.interval.ms=500",
    "offsets.topic.num.partitions=4",
    "group.initial.rebalance.delay.ms=0",
)


class FleetProcess:
    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.out, self.err, self.ready_file = directory / "out", directory / "err", directory / "ready.json"
        self.ready_file.unlink(missing_ok=True)
        command = [
            console_script(),
            "up",
            "--data",
            str(directory / "data"),
            "--ready-file",
            str(self.ready_file),
        ]
        command += [text for pair in SETTINGS for text in ("--set", pair)]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, *options], stdout=out, stderr=err, cwd=directory, env=clean_environment()
            )

    @property
    def facts(self) -> Any:
        """What the ready file says, once it is there."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.ready_file.exists():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.02)
        return json.loads(self.ready_file.read_text())

    @property
    def servers(self) -> str:
        return str(self.facts["bootstrap_servers"])

    def pid(self, node: int) -> int:
        [found] = [broker["pid"] for broker in self.facts["brokers"] if broker["node_id"] == node]
        return int(found)

    def send(self, node: int, number: int) -> None:
        os.kill(self.pid(node), number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def said(self) -> str:
        return self.out.read_text(errors="replace") + self.err.read_text(errors="replace")


def run_tidelog(servers: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A command in a process of its own."""
    command = [console_script(), "-b", servers, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=clean_environment()
    )


def clean_environment() -> dict[str, str]:
    """TIDELOG_… in the environment are settings of brokers: none of this machine's, and neither metrics nor a
    schema registry, whose ports clusters side by side would take from each other."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("TIDELOG_")}
    return others | {"TIDELOG_METRICS_PORT": "0", "TIDELOG_SCHEMA_REGISTRY_PORT": "0"}

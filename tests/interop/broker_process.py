"""The broker under test: `tidelog up` in its own process, or one that is already up."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tidelog.server.free_ports import free_ports

START_PATIENCE_S = 20.0
STOP_PATIENCE_S = 20.0
# Members that crash are missed after their session timeout: a short one keeps the tests short.
SETTINGS = (
    "durability=os",
    "group.min.session.timeout.ms=1000",
    "group.initial.rebalance.delay.ms=0",
    "group.consumer.min.heartbeat.interval.ms=300",
    "group.consumer.heartbeat.interval.ms=300",
    "group.consumer.assignment.interval.ms=0",
    "group.streams.min.heartbeat.interval.ms=300",
    "group.streams.heartbeat.interval.ms=300",
    "group.streams.min.session.timeout.ms=1000",
    "group.streams.initial.rebalance.delay.ms=0",
    "group.share.min.heartbeat.interval.ms=300",
    "group.share.heartbeat.interval.ms=300",
    "group.share.min.session.timeout.ms=1000",
    "group.share.min.record.lock.duration.ms=1000",
    "group.share.assignment.interval.ms=0",
    "share.coordinator.state.topic.num.partitions=4",
)


@dataclass
class BrokerProcess:
    address: str
    data: Path | None
    log_file: Path | None = None
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def of_environment(cls) -> "BrokerProcess | None":
        address = os.environ.get("TIDELOG_INTEROP_BOOTSTRAP")
        data = os.environ.get("TIDELOG_INTEROP_DATA")
        return None if address is None else cls(address, Path(data) if data else None)

    @classmethod
    def start(cls, directory: Path, port: int = 0) -> "BrokerProcess":
        data, log_file, ready = directory / "data", directory / "broker.log", directory / "ready.json"
        options = ["--port", str(port), "--data", str(data), "--ready-file", str(ready)]
        options += [text for pair in SETTINGS for text in ("--set", pair)]
        ready.unlink(missing_ok=True)
        # TIDELOG_… in the environment are settings of the broker: none of ours, and none of this machine's.
        environment = {name: text for name, text in os.environ.items() if not name.startswith("TIDELOG_")}
        environment |= {"TIDELOG_METRICS_PORT": "0", "TIDELOG_SCHEMA_REGISTRY_PORT": "0"}
        command = [console_script(), "up", *options]
        with log_file.open("ab") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        running = cls("", data, log_file, process)
        deadline = time.monotonic() + START_PATIENCE_S
        while not ready.exists():
            if time.monotonic() > deadline or process.poll() is not None:
                process.kill()
                raise RuntimeError(f"tidelog up did not get ready:\n{running.log_tail()}")
            time.sleep(0.05)
        running.address = json.loads(ready.read_text())["bootstrap_servers"]
        return running

    def kill(self) -> None:
        """End it at once, as a crash does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop it the way a service manager does, and insist that it goes."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise RuntimeError(f"tidelog up did not stop on SIGTERM:\n{self.log_tail()}") from None
        if code != 0:
            raise RuntimeError(f"tidelog up ended with {code}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 60) -> str:
        if self.log_file is None:
            return "kept by whoever started the broker"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])


def console_script() -> str:
    beside_python = Path(sys.executable).parent / "tidelog"
    found = str(beside_python) if beside_python.exists() else shutil.which("tidelog")
    if found is None:
        raise RuntimeError("the tidelog command is not installed: pip install -e .")
    return found


def free_port() -> int:
    return free_ports("localhost", 1)[0]

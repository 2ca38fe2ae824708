"""A cluster as users start it: `tidelog up --brokers N` in a process of its own."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benches.rig.broker_process import environment, tidelog, work_folder

Address = tuple[str, int]


class RunningCluster:
    def __init__(self, facts: dict[str, Any], process: "subprocess.Popen[bytes]", folder: str) -> None:
        self.folder = folder
        self.facts: dict[str, Any] = facts
        """What the supervisor says of itself once the brokers are ready."""
        self.servers = str(facts["bootstrap_servers"])
        self._process = psutil.Process(process.pid)

    @property
    def address(self) -> Address:
        """Of any broker."""
        host, _, port = self.servers.split(",")[0].rpartition(":")
        return host, int(port)

    @property
    def pids(self) -> list[int]:
        """Of the supervisor and of the brokers."""
        return [one.pid for one in (self._process, *self._process.children(recursive=True))]

    def cpu_seconds(self) -> float:
        """Of all brokers together."""
        times = [one.cpu_times() for one in (self._process, *self._process.children(recursive=True))]
        return float(sum(one.user + one.system for one in times))


@contextmanager
def running_cluster(settings: dict[str, str] | None = None, brokers: int = 3) -> Iterator[RunningCluster]:
    folder = tempfile.mkdtemp(prefix="tidelog-bench-", dir=work_folder())
    ready = Path(folder) / "ready"
    command = [*tidelog(), "up", "--brokers", str(brokers), "--data", f"{folder}/data", "--port", "0"]
    command += [f"--set={name}={value}" for name, value in (settings or {}).items()]
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], env=environment(), stdout=log, stderr=log
        )
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError(f"the cluster did not start:\n{Path(folder, 'log').read_text()}")
            time.sleep(0.05)
        yield RunningCluster(json.loads(ready.read_text()), process, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

"""`tidelog up` in a process of its own, whose memory can be measured from outside."""

import json
import subprocess
import sys
from pathlib import Path

import psutil

from tests.faults.raw_client import DEADLINE_S, RawClient, wait_until


class BrokerProcess:
    def __init__(self, directory: Path, **settings: object) -> None:
        ready = directory / "ready.json"
        settings = {"metrics_port": 0, **settings}
        options = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        command = [sys.executable, "-c", "from tidelog.cli.main import main; main()", "up", "--port", "0"]
        command += ["--data", str(directory / "data"), "--ready-file", str(ready)]
        for option in options:
            command += ["--set", option]
        self._log_file = directory / "broker.log"
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: ready.exists() or self._process.poll() is not None, "the broker answers")
        assert self._process.poll() is None, self.log_text()
        self.port: int = json.loads(ready.read_text())["port"]
        self._measured = psutil.Process(self._process.pid)

    def __enter__(self) -> "BrokerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(DEADLINE_S)
        finally:
            self._process.kill()

    def connect(self) -> RawClient:
        return RawClient(self.port)

    @property
    def memory_bytes(self) -> int:
        return int(self._measured.memory_info().rss)

    @property
    def open_files(self) -> int:
        return int(self._measured.num_fds())

    def log_text(self) -> str:
        return self._log_file.read_text(errors="replace")

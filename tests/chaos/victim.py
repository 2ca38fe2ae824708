"""`tidelog up` as a process that is killed without warning and started again on the same folder and port."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE_S = 30.0


class Victim:
    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        folder.mkdir()
        self.data = folder / "data"
        self.log_file = folder / "broker.log"
        self._ready_file = folder / "ready.json"
        self._settings = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Answers requests when this returns; the second time on the port of the first."""
        assert self._process is None
        self._ready_file.unlink(missing_ok=True)
        values = {**self._settings, "listeners": f"PLAINTEXT://127.0.0.1:{self._port}"}
        options = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        command = [sys.executable, "-c", "from tidelog.cli.main import main; main()", "up"]
        command += ["--data", str(self.data), *options]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ready-file", str(self._ready_file)], stdout=log, stderr=log
            )
        wait_until(self._is_ready, f"the broker answers:\n{self.log_tail()}")
        self._port = json.loads(self._ready_file.read_text())["port"]

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the broker ended:\n{self.log_tail()}"
        return self._ready_file.exists()

    def kill(self) -> None:
        """As the out-of-memory killer does. Nothing happens where it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            self._process = None

    def terminate(self) -> int:
        """As a service manager does; the exit code."""
        process = self.ask_to_stop()
        code = process.wait(PATIENCE_S)
        self._process = None
        return code

    def ask_to_stop(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process

    def log_text(self) -> str:
        return self.log_file.read_text(errors="replace")

    def log_tail(self) -> str:
        return self.log_text()[-4000:] if self.log_file.exists() else ""


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience_s:g} s in vain: {what}"
        time.sleep(0.005)

"""A broker as users start it, `tidelog up` in a process of its own, and what the system says about it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil


class BrokerProcess:
    """`with BrokerProcess(settings) as broker:`; without `data` it lives in a temporary folder that goes."""

    def __init__(self, settings: dict[str, str] | None = None, *, data: str | None = None) -> None:
        self._own_folder = None if data else tempfile.mkdtemp(prefix="tidelog-bench-", dir=work_folder())
        self.data = data or str(self._own_folder)
        self._settings = {"durability": "os"} | (settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.facts: dict[str, Any] = {}
        """What it says of itself once it is ready."""

    def __enter__(self) -> "BrokerProcess":
        try:
            self.start()
        except BaseException:
            self._clean_up()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clean_up()

    def _clean_up(self) -> None:
        self.kill()
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)
        Path(self.data + ".log").unlink(missing_ok=True)
        Path(self.data + ".ready").unlink(missing_ok=True)

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def log(self) -> str:
        """What it has printed since its last start."""
        return Path(self.data + ".log").read_text()

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._running().pid)

    def start(self) -> None:
        ready = Path(self.data + ".ready")
        flags = [f"--set={name}={value}" for name, value in self._settings.items()]
        command = [*tidelog(), "up", "--data", self.data, "--port", "0", "--ready-file", str(ready), *flags]
        with open(self.data + ".log", "wb") as log:
            self._process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
        while not ready.exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the broker did not start:\n{self.log}")
            time.sleep(0.002)
        self.facts = json.loads(ready.read_text())
        self.port = self.facts["port"]
        ready.unlink()

    def stop(self) -> None:
        """Cleanly, as Ctrl-C does."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        process.wait()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def cpu_seconds(self) -> float:
        """User and system time of all its threads, to the nanosecond where the kernel says so."""
        try:
            tasks = Path(f"/proc/{self._running().pid}/task").iterdir()
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except FileNotFoundError:
            times = self.process.cpu_times()
            return float(times.user + times.system)

    def rss_bytes(self) -> int:
        return int(self.process.memory_info().rss)

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("the broker does not run")
        return self._process


def tidelog() -> list[str]:
    """The installed command, so that start-up is measured as users see it."""
    return [str(Path(sys.executable).with_name("tidelog"))]


def environment() -> dict[str, str]:
    """Bytecode caches are used and written, as on any machine that does not forbid it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def work_folder() -> str | None:
    """Where data goes: a disk with room, named by BENCH_DIR, or the system's folder for temporary files."""
    return os.environ.get("BENCH_DIR")

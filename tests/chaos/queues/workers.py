"""The processes that are members of share groups, seen from outside: started, killed, stopped, and read."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos.queues.worker import COMPLAINT
from tests.rigs.repository import ROOT
from tidelog.testing.share_history import ShareEvent, ShareGroupPlan

OURS, LIBRDKAFKA = "tests.chaos.queues.worker", "tests.chaos.queues.librdkafka_worker"
END_S = 20.0


class Worker:
    """One place in a group, and the processes that have it one after the other."""

    def __init__(
        self,
        directory: Path,
        name: str,
        plan: ShareGroupPlan,
        *,
        servers: str,
        topics: list[str],
        program: str = OURS,
    ) -> None:
        self.name = name
        self._program = program
        self._directory = directory
        self._options = {
            "servers": servers,
            "topics": ",".join(topics),
            "plan": msgspec.json.encode(plan).decode(),
        }
        self._lives = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_draining = False
        self.files: list[Path] = []

    def start(self) -> None:
        name = f"{self.name}.{next(self._lives)}"
        options = {**self._options, "name": name}
        texts = [text for key, value in options.items() for text in (f"--{key}", value)]
        self.files.append(self._directory / f"{name}.jsonl")
        with self.files[-1].open("wb") as out, self.files[-1].with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._program, *texts],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=errors,
            )
        if self._is_draining:
            self._say("drain")

    def crash(self) -> None:
        """And come back at once, as a process that is supervised."""
        self.kill()
        self.start()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """As long as this lasts, its connections are open and its locks end."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def drain(self) -> None:
        self._is_draining = True
        self.resume()
        self._say("drain")

    def stop(self) -> str:
        """Returns what was wrong with its end."""
        if self._process is None:
            return ""
        self._say("stop")
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"{self.name} does not end within {END_S:g} s"
        self._process = None
        return f"{self.name} ended with {code}" if code else ""

    def _say(self, word: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(f"{word}\n".encode())
                self._process.stdin.flush()
            except OSError:  # it ended by itself, which its exit code says
                return

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)


class Told:
    """What one process did, as far as it came to say so."""

    def __init__(self, file: Path) -> None:
        events: dict[int, ShareEvent] = {}
        self.complaints: list[str] = []
        for line in file.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                continue  # the process was killed
            told: Any = msgspec.json.decode(line)
            if isinstance(told, dict):
                self.complaints.append(f"{file.stem}: {told[COMPLAINT]}")
            else:
                events[told[0]] = msgspec.convert(told[1], ShareEvent)
        self.events = list(events.values())
        errors = file.with_suffix(".err").read_text(errors="replace")
        if errors:
            self.complaints.append(f"{file.stem}: {errors[-2000:]}")

"""The processes that copy in transactions, seen from outside: started, killed, replaced, and read out."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.rigs.repository import ROOT
from tidelog.testing.history import Completion, Operation, Read, Sent

PROGRAM = "tests.chaos.copier"
NEW_PLACES = "subscribe"
HANGS_S = 12.0
"""Without a word. There is always something to copy, and no fault lasts as long."""


class Copier:
    """One transactional id, and the processes that use it one after the other."""

    def __init__(self, directory: Path, transactional_id: str, arguments: dict[str, object]) -> None:
        self.id = transactional_id
        self._directory = directory
        self._arguments = arguments
        self._lives = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.files: list[Path] = []
        self.hung = 0

    def command(self, name: str) -> list[str]:
        options = {**self._arguments, "id": self.id, "name": name}
        texts = [text for key, value in options.items() for text in (f"--{key}", str(value))]
        return [sys.executable, "-m", PROGRAM, *texts]

    def start(self) -> None:
        name = f"{self.id}.{next(self._lives)}"
        self.files.append(self._directory / f"{name}.jsonl")
        with self.files[-1].open("wb") as out, (self._directory / f"{name}.err").open("wb") as errors:
            self._process = subprocess.Popen(
                self.command(name), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=errors
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def crash(self) -> None:
        """And come back at once, as something that is supervised."""
        self.kill()
        self.start()

    def revive(self) -> None:
        """A producer that met a fatal error ends by itself; one that hangs is killed.

        librdkafka can wait for ever for a coordinator that it forgot, while the broker was away, but for a
        reference to it.
        """
        if self._process is None:
            return
        if self._process.poll() is not None:
            self.start()
        elif time.time() - self.files[-1].stat().st_mtime > HANGS_S:
            self.hung += 1
            self.crash()

    def told(self) -> list["Told"]:
        return [Told(file) for file in self.files]


class Told:
    """What one process did, as far as it came to say so."""

    def __init__(self, file: Path) -> None:
        self.process = file.stem
        self.operations: list[Operation] = []
        self.complaints: list[str] = []
        self.fatal: list[str] = []
        begun: dict[int, Operation] = {}
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):  # the last one may be cut
                self._take(json.loads(line), begun)
        errors = file.with_suffix(".err").read_text(errors="replace")
        if errors:
            self.complaints.append(f"{self.process}: {errors[-2000:]}")

    def _take(self, line: dict[str, Any], begun: dict[int, Operation]) -> None:
        if "begin" in line:
            operation = begun[line["begin"]] = Operation(
                self.process,
                "txn",
                Completion.INFO,
                started=line["at"],
                ended=line["at"],
                committed_only=True,
            )
            operation.read = [Read(f"{topic}-{index}", at, value) for topic, index, at, value in line["read"]]
            operation.sent = [Sent(f"{topic}-{index}", value) for topic, index, value in line["sent"]]
            self.operations.append(operation)
        elif "end" in line:
            operation = begun[line["end"]]
            operation.outcome, operation.error = Completion(line["outcome"]), line["error"]
            operation.ended = line["at"]
            for sent in operation.sent:
                sent.offset = line["offsets"].get(sent.value)
        elif NEW_PLACES in line:
            at = line[NEW_PLACES]
            self.operations.append(Operation(self.process, NEW_PLACES, started=at, ended=at))
        elif "fatal" in line:
            self.fatal.append(f"{self.process}: {line['fatal']}")
        elif "complaint" in line:
            self.complaints.append(f"{self.process}: {line['complaint']}")

"""Talks to a client in another language: one process each, a JSON command a line in, an answer a line out.

A command is {"do": name, ...}; an answer is {"ok": result} or {"refused": code, "message": text} or
{"unfinished": text, "got": n}. Bytes travel as base64. Records are [key, value, headers, timestamp,
partition, offset, append_time]. Sharing one process keeps the start of a JVM out of every test.
"""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.interop.driver import Refused, Unfinished

PATIENCE_S = 100.0
"""A client that hangs is killed: pytest-timeout does not look after what follows a test that has failed."""


class Agent:
    def __init__(
        self, command: Sequence[str], cwd: Path | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self._command = command
        self._turn = threading.Lock()
        self._process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        hangs = threading.Timer(PATIENCE_S, self._process.kill)
        with self._turn:
            hangs.start()
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            hangs.cancel()
        if not line:
            raise RuntimeError(f"{self._command[0]} ended with {self._process.wait()} on {do}")
        answer = json.loads(line)
        if "ok" in answer:
            return answer["ok"]
        if "refused" in answer:
            raise Refused(answer["refused"], answer["message"])
        if "unfinished" in answer:
            raise Unfinished(answer["unfinished"], range(answer.get("got", 0)))
        raise RuntimeError(answer["failed"])

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def close(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it is gone already
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

"""Instances of a Kafka Streams application (java/WordCount.java), each in a process of its own."""

import subprocess
import threading
from pathlib import Path

from tests.interop.kafka_jars import HERE, JVM, QUIET, compiled
from tests.interop.waiting import eventually

PATIENCE_S = 60.0


class StreamsInstance:
    def __init__(self, bootstrap: str, application: str, topics: tuple[str, str], directory: Path) -> None:
        directory.mkdir()
        self._log = directory / "log"
        arguments = [bootstrap, application, *topics, str(directory / "state"), f"{directory.name}:80"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*JVM, "-Xmx256m", *QUIET, "-cp", compiled(HERE / "java"), "WordCount", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._states: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._states.append(line.strip())

    def wait_until_it_runs(self) -> None:
        def runs() -> bool:
            assert self._process.poll() is None, f"it ended:\n{self._log.read_text()}"
            return self._states[-1:] == ["RUNNING"]

        eventually(runs, PATIENCE_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def stop(self) -> None:
        """As an operator would: it leaves its group."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0, self._log.read_text()
        self._reader.join()

    def close(self) -> None:
        if self._process.poll() is None:
            self.kill()

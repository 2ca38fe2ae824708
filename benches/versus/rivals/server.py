"""A server that does not speak Kafka's protocol, as one of the systems of a comparison."""

import os
import shutil
import signal
import socket
import subprocess
import time
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

from benches.versus.generator import Run
from benches.versus.systems import System

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
# Where servers are installed is often not on the path of those who are not root.
PROGRAMS = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


class Client(Protocol):
    """A connection in the server's own protocol; `with` ends it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def create(self, stream: str) -> None: ...

    def delete(self, stream: str) -> None: ...

    def produce(self, stream: str, size: int, count: int) -> Run: ...

    def consume(self, stream: str, count: int) -> Run: ...


class Rival(System):
    """Its process has a group, a folder and ports of its own. Durability is the server's default."""

    program: str
    package: str

    def start(self) -> None:
        self._data = self._folder()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._running.callback(self.stop_process, cleanly=False)
        self.start_process()
        self.wait_for_answer()

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pids(self) -> list[int]:
        return [self._one().pid]

    @property
    def log_dirs(self) -> list[Path]:
        return [self._data]

    @abstractmethod
    def command(self) -> list[str]: ...

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def start_process(self) -> None:
        with (self._data / "output.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop_process(self, cleanly: bool) -> None:
        if self._process is None:
            return
        if cleanly:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS_MAX)
        with suppress(ProcessLookupError):  # nobody of the group may be left
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def wait_for_answer(self) -> None:
        patience = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return self.answer()
            except OSError as error:
                if self._one().poll() is not None or time.monotonic() > patience:
                    said = (self._data / "output.log").read_text()[-2000:]
                    raise RuntimeError(f"{self.program} did not start:\n{said}") from error
                time.sleep(0.005)

    @abstractmethod
    def client(self) -> "Client": ...

    def new_topic(self, partitions: int = 1, replicas: int | None = None) -> str:
        self._topics += 1
        name = f"bench-{self._topics}"
        with self.client() as client:
            client.create(name)
        return name

    def delete_topic(self, name: str) -> None:
        with self.client() as client:
            client.delete(name)

    def produce(self, topic: str, size: int, count: int) -> Run:
        with self.client() as client:
            return client.produce(topic, size, count)

    def consume(self, topic: str, count: int) -> Run:
        with self.client() as client:
            return client.consume(topic, count)

    @classmethod
    def path(cls) -> str | None:
        return shutil.which(cls.program, path=PROGRAMS)

    @classmethod
    def missing(cls) -> str | None:
        """What to tell where it cannot take part."""
        if cls.path() is not None:
            return None
        return f"{cls.name} is not installed: apt-get install {cls.package}"

    @classmethod
    @abstractmethod
    def version(cls) -> str: ...

    def _one(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError(f"{self.program} does not run")
        return self._process


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

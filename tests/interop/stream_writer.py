"""Producers that go on by themselves: the numbers 0, 1, 2, … to one partition, acks=all, idempotent.

Alone on its partition, a number's offset is the number itself, unless something was lost, doubled or swapped.
Commands to the process, beside those of agent.py: start_writing, take_fates and stop_writing.
"""

import itertools
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from tests.interop.driver import Refused
from tests.interop.group_member import Process

NAMES = itertools.count(1)
EVERY_MS = 250
KCAT_BLOCK_BYTES = 1024  # it reads no less of its input at a time


class StreamWriter:
    """Knows what became of each number: its offset where it was acknowledged, or why it failed."""

    def __init__(self, process: Process, bootstrap: str, topic: str, partition: int) -> None:
        self._process = process
        self._name = f"writer-{next(NAMES)}"
        self._is_open = True
        self.partition = partition
        self.offsets: dict[int, int] = {}
        self.failures: dict[int, str] = {}
        where = {"bootstrap": bootstrap, "topic": topic, "partition": partition}
        process.ask("start_writing", writer=self._name, **where, every_ms=EVERY_MS)

    def look(self) -> "StreamWriter":
        if self._is_open:
            self._learn(self._process.ask("take_fates", writer=self._name))
        return self

    def _learn(self, fates: Sequence[tuple[int, int, str]]) -> None:
        for number, offset, failure in fates:
            if failure:
                self.failures[number] = failure
            else:
                self.offsets[number] = offset

    def stop(self) -> None:
        if self._is_open:
            self._is_open = False
            self._learn(self._process.ask("stop_writing", writer=self._name))

    def close(self) -> None:
        try:
            self.stop()
        except Refused:
            pass  # the cluster is gone

    def check(self) -> None:
        """Every number is written once, in order, and nothing was refused."""
        assert not self.failures, self.failures
        moved = {number: offset for number, offset in self.offsets.items() if number != offset}
        assert not moved, moved
        assert sorted(self.offsets) == list(range(len(self.offsets)))


class KcatWriter(StreamWriter):
    """kcat writes what it reads from stdin, line by line, and says where each line went."""

    _DELIVERED = re.compile(r"% Message delivered to partition \d+ \(offset (\d+)\)")

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        self.partition = partition
        self.offsets, self.failures = {}, {}
        settings = ["-X", "enable.idempotence=true", "-X", "queue.buffering.max.ms=0"]
        settings += ["-X", "reconnect.backoff.max.ms=500"]
        # -E: a broker that dies is no reason to end; -v twice: say what is delivered.
        command = [
            "kcat",
            "-b",
            bootstrap,
            *settings,
            "-E",
            "-v",
            "-v",
            "-P",
            "-t",
            topic,
            "-p",
            str(partition),
        ]
        self._kcat = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        assert self._kcat.stdin is not None
        for number in itertools.count():
            if self._stopping.wait(EVERY_MS / 1000):
                break
            self._kcat.stdin.write(f"{number:>{KCAT_BLOCK_BYTES - 1}}\n")
            self._kcat.stdin.flush()
        self._kcat.stdin.close()

    def _read(self) -> None:
        assert self._kcat.stderr is not None
        for line in self._kcat.stderr:
            if delivered := self._DELIVERED.match(line):
                self.offsets[len(self.offsets)] = int(delivered[1])
            elif "Delivery failed" in line:
                self.failures[len(self.offsets)] = line

    def look(self) -> StreamWriter:
        return self

    def stop(self) -> None:
        self._stopping.set()
        if self._kcat.wait(60) != 0:
            self.failures[len(self.offsets)] = f"kcat ended with {self._kcat.returncode}"
        for thread in self._threads:
            thread.join()


def wait_until_written(writers: dict[str, StreamWriter], more: int, patience_s: float = 60) -> None:
    """Until each has `more` numbers acknowledged than now; a number that fails ends the wait."""
    aims = {name: len(writer.look().offsets) + more for name, writer in writers.items()}
    _wait(
        lambda: {
            name
            for name, writer in writers.items()
            if not writer.look().failures and len(writer.offsets) < aims[name]
        },
        patience_s,
    )


def _wait(late: Callable[[], set[str]], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while still := late():
        assert time.monotonic() < deadline, f"{sorted(still)} stand still"
        time.sleep(0.05)

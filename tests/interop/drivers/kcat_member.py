"""kcat as a member of a group: it prints what it reads to stdout, and how the group changes to stderr."""

import re
import signal
import subprocess
import threading
import time
from typing import IO, Any

from tests.interop.group_member import GroupMember, Note

# Eagerly "rebalanced (memberid …): assigned: …", and cooperatively "rebalanced: incremental revoke of …".
CHANGE = re.compile(r"^% Group .* rebalanced.*(assign|revoke).*")
PARTITION = re.compile(r"\[(\d+)\]")


class KcatMember(GroupMember):
    exact_clock = False  # a line's time is when we got to read it

    def __init__(
        self,
        *,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str,
        instance_id: str | None,
        session_timeout_ms: int,
        auto_commit: bool,
        reset: str,
    ) -> None:
        settings = {
            "client.id": "kcat",
            "partition.assignment.strategy": assignor,
            "session.timeout.ms": session_timeout_ms,
            "heartbeat.interval.ms": 200,
            "enable.auto.commit": str(auto_commit).lower(),
            "auto.commit.interval.ms": 200,
            "auto.offset.reset": {"none": "error"}.get(reset, reset),
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.max.ms": 500,
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        options = [text for name, value in settings.items() for text in ("-X", f"{name}={value}")]
        # -E: a broker that restarts is no reason to end.
        command = ["kcat", "-b", bootstrap, *options, "-E", "-u", "-f", "%p %o\n", "-G", group, topic]
        self._kcat = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._is_open = True
        self.ended_ms = None
        self.notes = []
        self._readers = [
            threading.Thread(target=self._read, args=reading, daemon=True)
            for reading in ((self._kcat.stdout, self._on_record), (self._kcat.stderr, self._on_message))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, lines: IO[str], take: Any) -> None:
        for line in lines:
            take(line.rstrip("\n"))

    def _on_record(self, line: str) -> None:
        partition, offset = map(int, line.split())
        self._note("records", [(partition, offset)])

    def _on_message(self, line: str) -> None:
        if change := CHANGE.match(line):
            kind = {"assign": "assigned", "revoke": "revoked"}[change[1]]
            self._note(kind, [int(index) for index in PARTITION.findall(line)])
        elif "Static consumer fenced" in line:
            self._note("failed", [82, line])
        elif "no previously committed offset" in line or "Offset out of range" in line:
            self._note("failed", [1, line])

    def _note(self, kind: str, what: Any) -> None:
        self.notes.append(Note(time.time() * 1000, kind, what))

    def look(self) -> GroupMember:
        return self

    def close(self) -> None:
        if self._is_open:
            self._finish(signal.SIGTERM)

    def kill(self) -> None:
        self._finish(signal.SIGKILL)

    def signal(self, number: int) -> None:
        self._kcat.send_signal(number)

    def _finish(self, number: int) -> None:
        self.ended_ms = time.time() * 1000
        self._is_open = False
        self._kcat.send_signal(number)
        try:
            self._kcat.wait(15)
        except subprocess.TimeoutExpired:
            self._kcat.kill()
            self._kcat.wait()
        for reader in self._readers:
            reader.join()

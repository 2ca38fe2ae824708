"""Members of groups and writers in Python, one process for one client library.

../group_member.py and ../stream_writer.py list the commands.
"""

import importlib
import json
import logging
import os
import re
import sys
import time
from collections import deque
from typing import Any

from tests.interop.driver import Refused


class Notes:
    """What happens to a member, noted on its thread and taken on ours."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, str, Any]] = deque()

    def add(self, kind: str, what: Any) -> None:
        self._kept.append((time.time() * 1000, kind, what))

    def take(self) -> list[tuple[float, str, Any]]:
        return [self._kept.popleft() for _ in range(len(self._kept))]


class Agent:
    def __init__(self, client: str) -> None:
        self._module = client.replace("-", "_")
        self._members: dict[str, Any] = {}
        self._notes: dict[str, Notes] = {}
        self._writers: dict[str, Any] = {}
        self._fates: dict[str, deque[tuple[int, int, str]]] = {}

    def _new(self, kind: str, *arguments: Any, **options: Any) -> Any:
        words = re.sub(r"\B([A-Z])", r"_\1", kind).lower()
        module = importlib.import_module(f"tests.interop.members.{self._module}_{words}")
        return getattr(module, kind)(*arguments, **options)

    def join_group(self, member: str, **wanted: Any) -> None:
        self._notes[member] = Notes()
        self._members[member] = self._new("Member", self._notes[member], **wanted)

    def take_notes(self, member: str) -> Any:
        return self._notes[member].take()

    def commit(self, member: str, offsets: dict[str, tuple[int, str]] | None, wait: bool) -> None:
        named = None if offsets is None else {int(index): tuple(one) for index, one in offsets.items()}
        self._members[member].commit(named, wait)

    def committed(self, member: str, partitions: list[int]) -> Any:
        return self._members[member].committed(partitions)

    def leave_group(self, member: str) -> Any:
        self._members.pop(member).close()
        return self._notes.pop(member).take()

    def join_share(self, member: str, **wanted: Any) -> None:
        self._notes[member] = Notes()
        self._members[member] = self._new("ShareMember", self._notes[member], **wanted)

    def take(self, member: str, patience_ms: int) -> Any:
        return self._members[member].take(patience_ms)

    def settle(self, member: str, places: list[Any], kind: str) -> None:
        self._members[member].settle(places, kind)

    def flush(self, member: str) -> Any:
        return self._members[member].flush()

    def work(self, member: str) -> None:
        self._members[member].work()

    take_share_notes = take_notes
    leave_share = leave_group

    def start_writing(self, writer: str, **wanted: Any) -> None:
        fates = self._fates[writer] = deque()
        self._writers[writer] = self._new("Writer", lambda *fate: fates.append(fate), **wanted)

    def take_fates(self, writer: str) -> Any:
        fates = self._fates[writer]
        return [fates.popleft() for _ in range(len(fates))]

    def stop_writing(self, writer: str) -> Any:
        self._writers.pop(writer).stop()
        return self.take_fates(writer)

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"ok": getattr(self, command.pop("do"))(**command)}
        except Refused as refused:
            return {"refused": refused.code, "message": str(refused)}
        except Exception as failure:
            return {"failed": repr(failure)}


def main() -> None:
    logging.disable()  # a broker that a test stops is no news
    agent = Agent(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(agent.answer(json.loads(line))), flush=True)
    # Nobody waits for farewells to brokers that may be gone already.
    os._exit(0)


if __name__ == "__main__":
    main()

"""Members of groups in Python, one process for one client library; ../group_member.py lists the commands."""

import importlib
import json
import logging
import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from driver import Refused

CLIENTS = {
    "confluent": "confluent_member",
    "aiokafka": "aiokafka_member",
    "kafka-python": "kafka_python_member",
}


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
        self._member = importlib.import_module(CLIENTS[client]).Member
        self._members: dict[str, Any] = {}
        self._notes: dict[str, Notes] = {}

    def join_group(self, member: str, **wanted: Any) -> None:
        self._notes[member] = Notes()
        self._members[member] = self._member(self._notes[member], **wanted)

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

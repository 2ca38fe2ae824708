"""TCP links between brokers that can be cut: each broker is reached by the others through a proxy of its own.

A cut says nothing: bytes wait as packets of a cut cable do, connections stay open, and the end of a process
on the far side goes unnoticed. What waited arrives late once the link is mended, or is reset with its
connection. Callers that are no brokers are never cut off.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tidelog.server import free_ports as ports

HOST = "127.0.0.1"
PROXY = Path(__file__).parent / "link_proxy.py"


class PeerLinks:
    def __init__(self) -> None:
        self._nodes: list[int] = []
        self._one_command = threading.Lock()
        self._proxy = subprocess.Popen(
            [sys.executable, str(PROXY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def add(self, node: int, port: int) -> int:
        """Where the others reach `node`, which itself listens at `port`."""
        self._nodes.append(node)
        return int(self._tell("add", node=node, port=port))

    def close(self) -> None:
        self._proxy.kill()
        self._proxy.communicate()

    def cut_one_way(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Nothing of `sources` arrives at `targets`: neither their requests nor their answers."""
        others = tuple(targets)
        self._tell("cut", pairs=[(a, b) for a in sources for b in others])

    def cut(self, one_side: Iterable[int], other_side: Iterable[int]) -> None:
        ones, others = tuple(one_side), tuple(other_side)
        self.cut_one_way(ones, others)
        self.cut_one_way(others, ones)

    def slow(self, nodes: Iterable[int], seconds: float) -> None:
        """Whatever these send takes longer."""
        self._tell("slow", pairs=[(a, b) for a in nodes for b in self._nodes], seconds=seconds)

    def mend(self, *, reset: bool = False) -> None:
        """Everybody reaches everybody. `reset`: what waited is lost, as after a long cut."""
        self._tell("mend", reset=reset)

    def _tell(self, command: str, **arguments: object) -> Any:
        with self._one_command:
            assert self._proxy.stdin is not None
            assert self._proxy.stdout is not None
            self._proxy.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
            self._proxy.stdin.flush()
            return json.loads(self._proxy.stdout.readline())


def free_ports(count: int, *, in_a_row: int = 1) -> list[int]:
    return ports.free_ports(HOST, count, in_a_row=in_a_row)

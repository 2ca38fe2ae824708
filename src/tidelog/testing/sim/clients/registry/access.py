"""Calls of the registry's API at a broker of the client's choice, as its HTTP port would pass them on.

The client sits on the broker's machine: nothing but the death or the pause of the process keeps an answer
from it.
"""

import asyncio
import json
import random
from typing import Any, NamedTuple, Protocol

from tidelog.broker.registry.calls import Answer, Call
from tidelog.node.node import BrokerNode
from tidelog.testing.registry_history import OK, REFUSED, UNREACHED, UNSURE
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop

ANSWER_SECONDS = 8.0
LOOK_SECONDS = 0.01
CLIENT_ERROR, THROTTLED, SERVER_ERROR = 400, 429, 500


class Host(Protocol):
    """A machine, which has a broker or not."""

    life: Life | None
    process: BrokerNode | None
    serves: bool


class Heard(NamedTuple):
    outcome: str
    body: Any = None
    code: int = 0


class RegistryAccess:
    def __init__(self, loop: SimLoop, hosts: list[Any], chance: random.Random) -> None:
        """`hosts` are `Host`s: the machines of the cluster."""
        self._loop = loop
        self._hosts: list[Host] = hosts
        self._chance = chance
        self.last_problem = ""

    async def call(self, method: str, path: str, query: str = "", body: Any = None) -> Heard:
        """Returns what a broker answers. UNSURE: it died, or took too long, or says that it does not know."""
        host = self._chance.choice(self._hosts)
        life, node = host.life, host.process
        if life is None or node is None or not host.serves or node.services.registry is None:
            return Heard(UNREACHED)
        sent = Call(method, path, query, b"" if body is None else json.dumps(body).encode())
        running = self._loop.spawn(life, node.services.registry.call(sent), name="registry client")
        deadline = self._loop.now + ANSWER_SECONDS
        # Not awaited: its process may die before it ends, and takes it along.
        while life.is_alive and not running.done() and self._loop.now < deadline:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        if not life.is_alive or not running.done() or running.cancelled() or running.exception():
            self.last_problem = "no answer"
            return Heard(UNSURE)
        return self._heard(running.result())

    def _heard(self, answer: Answer) -> Heard:
        body: Any = json.loads(answer.body) if answer.body else None
        if answer.status < CLIENT_ERROR:
            return Heard(OK, body)
        self.last_problem = str(body)
        if answer.status >= SERVER_ERROR or answer.status == THROTTLED:
            return Heard(UNSURE, body)
        return Heard(REFUSED, body, body["error_code"])

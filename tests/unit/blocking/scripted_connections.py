"""Connections without sockets: which brokers are up, which versions they have, and a script of answers."""

from types import SimpleNamespace
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.errors import Disconnected
from tidelog.wire.message import Message


class ScriptedBrokers:
    """{port: the highest version of every request}; the answers are error codes, or errors to raise."""

    def __init__(self, highest: dict[int, int], *answers: Any) -> None:
        self.highest = highest
        self.answers = list(answers)
        self.asked: list[tuple[int, int]] = []
        self.opened: list[int] = []
        self.timeouts: list[float | None] = []

    def connect(self, host: str, port: int, **_: Any) -> "ScriptedConnection":
        if port not in self.highest:
            raise Disconnected(f"{host}:{port}: refused") from ConnectionRefusedError("refused")
        self.opened.append(port)
        return ScriptedConnection(self, host, port)


class ScriptedConnection:
    def __init__(self, brokers: ScriptedBrokers, host: str, port: int) -> None:
        self._brokers, self._host, self._port = brokers, host, port
        self.is_stale = False
        self.is_closed = False
        self.timeout_s = 0.0
        self.features: dict[str, int] = {}

    def call(
        self,
        _message: Message,
        *,
        timeout_s: float | None = None,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> Any:
        highest = self._brokers.highest[self._port]
        version = highest if at_most is None else min(highest, at_most)
        if version < at_least:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"{self._host}:{self._port} does not offer version {at_least}"
            )
        self._brokers.asked.append((self._port, version))
        self._brokers.timeouts.append(timeout_s)
        answer = self._brokers.answers.pop(0) if self._brokers.answers else 0
        if isinstance(answer, Exception):
            self.is_stale = True
            raise answer
        return SimpleNamespace(error_code=answer)

    def close(self) -> None:
        self.is_stale = self.is_closed = True

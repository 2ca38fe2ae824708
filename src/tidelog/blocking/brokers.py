"""Connections to the brokers of a cluster: one for each address, opened on first use.

A `Brokers` belongs to one thread. It begins with the bootstrap servers and learns the other brokers from
answers. A connection that its broker closed, as a restart does, is replaced before the next request.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tidelog.blocking.addresses import Address, addresses_of
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import Disconnected, NoBroker
from tidelog.blocking.settings import ClusterSettings
from tidelog.wire.message import Message

_TIMEOUT_MIN_S = 0.001
"""A socket takes 0 for "do not wait at all"."""


class Brokers:
    def __init__(
        self,
        settings: ClusterSettings,
        *,
        connect: Callable[..., Connection] = Connection,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._connect, self._now = connect, now
        self._bootstrap = addresses_of(",".join(settings.servers))
        self._learned: list[Address] = []
        self._connections: dict[Address, Connection] = {}
        self._failures: dict[Address, Disconnected] = {}
        """The last failure of each broker that has not answered since."""

    def learn(self, addresses: Iterable[Address]) -> None:
        """The cluster's brokers as an answer lists them; calls turn to these before the bootstrap servers."""
        self._learned = list(addresses)

    def at(self, address: Address, *, timeout_s: float | None = None) -> Connection:
        """The connection to this broker; `timeout_s` limits the time to open it."""
        connection = self._connections.get(address)
        if connection is None or connection.is_stale:
            if connection is not None:
                connection.close()
                del self._connections[address]
            connection = self._connections[address] = self.open(address, timeout_s=timeout_s)
        return connection

    def any(self) -> Connection:
        """An open connection, else one to the first broker that can be reached."""
        failures = []
        for address in self._in_order():
            try:
                return self.at(address)
            except Disconnected as failure:
                failures.append(failure)
        raise NoBroker(failures)

    def call_any(
        self,
        message: Message,
        *,
        timeout_s: float | None = None,
        total_s: float | None = None,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> Any:
        """Asks one broker after the other until one answers, or `total_s` is over.

        `timeout_s` limits the time for each broker, so that a silent broker leaves some for the next. Where
        the time is over before all were asked, the error names the earlier failures of the others.
        """
        deadline = None if total_s is None else self._now() + total_s
        order = list(self._in_order())
        for place, address in enumerate(order):
            if place and deadline is not None and self._now() >= deadline:
                break
            try:
                connection = self.at(address, timeout_s=self._limit(timeout_s, deadline))
                answer = connection.call(
                    message,
                    timeout_s=self._limit(timeout_s, deadline),
                    at_least=at_least,
                    at_most=at_most,
                )
            except Disconnected as failure:
                self._failures[address] = failure
            else:
                self._failures.pop(address, None)
                return answer
        raise NoBroker([self._failures[address] for address in order if address in self._failures])

    def _limit(self, timeout_s: float | None, deadline: float | None) -> float | None:
        if deadline is None:
            return timeout_s
        request_s = self.settings.limits.request_s if timeout_s is None else timeout_s
        return min(request_s, max(deadline - self._now(), _TIMEOUT_MIN_S))

    def open(self, address: Address, *, timeout_s: float | None = None) -> Connection:
        """A new connection that the caller closes."""
        limits = self.settings.limits
        connection = self._connect(
            *address,
            security=self.settings.security,
            client_id=self.settings.client_id,
            connect_timeout_s=limits.connect_s if timeout_s is None else min(limits.connect_s, timeout_s),
            timeout_s=limits.request_s if timeout_s is None else timeout_s,
        )
        connection.timeout_s = limits.request_s  # later calls may have more time than was left to open it
        return connection

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _in_order(self) -> Iterator[Address]:
        """Open connections first: a broker that was away may still be, and to try it takes time."""
        is_open = [address for address, known in self._connections.items() if not known.is_stale]
        yield from dict.fromkeys([*is_open, *self._learned, *self._bootstrap])

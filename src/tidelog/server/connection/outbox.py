"""Small responses leave at the end of a turn: first all readable connections are read, then all are answered.

A response wakes the client that waits for it, and to wake a process on another core costs about half as much
as a small request. A client with many connections that gets all its responses at once is woken only once.
"""

import asyncio
import logging
from typing import Protocol

log = logging.getLogger("tidelog.server")


class OutboxSender(Protocol):
    def send(self) -> None:
        """Send what is queued, and handle what goes wrong with it."""
        ...


class ResponseOutbox:
    __slots__ = ("_loop", "_senders")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._senders: dict[OutboxSender, None] = {}

    def add(self, sender: OutboxSender) -> None:
        """`sender.send` is called once, after what the loop knows to be readable has been read."""
        if not self._senders:
            self._loop.call_soon(self._end_turn)
        self._senders[sender] = None

    def _end_turn(self) -> None:
        senders, self._senders = self._senders, {}
        for sender in senders:
            try:
                sender.send()
            except Exception:  # a fault in one connection must not hold back the others
                log.exception("responses could not be sent")

"""Small answers leave at the end of a turn: first every connection that spoke is read, then all are answered.

An answer wakes the client that waits for it, and waking a process on another core costs about half of what a
small request does. A client with many connections that is answered all at once is awake after the first one.
"""

import asyncio
import logging
from typing import Protocol

log = logging.getLogger("tidelog.server")


class Sender(Protocol):
    def send(self) -> None:
        """Send what is queued, and handle what goes wrong with it."""
        ...


class Outbox:
    __slots__ = ("_loop", "_senders")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._senders: dict[Sender, None] = {}

    def add(self, sender: Sender) -> None:
        """`sender.send` is called once, after what the loop knows to be readable has been read."""
        if not self._senders:
            self._loop.call_soon(self._end_turn)
        self._senders[sender] = None

    def _end_turn(self) -> None:
        senders, self._senders = self._senders, {}
        for sender in senders:
            try:
                sender.send()
            except Exception:  # a fault in one must not keep the answers of the others
                log.exception("answers could not be sent")

"""Heartbeats while the metadata log is being written: a slow disk must not look like a dead broker.

A leader keeps sending heartbeats, a follower keeps answering them; `raft.heartbeats` says what they may
contain. Only for a limited time: a cluster should replace a controller whose disk hangs.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tidelog.base.ports import Clock
from tidelog.raft.core import Raft
from tidelog.raft.messages import Addressed, AnyMessage
from tidelog.raft.ready import Ready

PATIENCE_SECONDS = 10.0
"""A write that takes longer than this is taken for a disk that hangs."""

log = logging.getLogger("tidelog.broker.quorum")


class QuorumHeartbeats:
    def __init__(self, raft: Raft, clock: Clock, send: Callable[[Sequence[Addressed]], None]) -> None:
        self._raft = raft
        self._clock = clock
        self._send = send
        self._writing: Ready | None = None
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def during(self, ready: Ready) -> Iterator[None]:
        """Send heartbeats while this Ready is being written."""
        self._writing, self._began = ready, self._clock.monotonic()
        self._beat_later()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        self._writing = None
        if self._timer is not None:
            self._timer.cancel()

    def received(self, message: AnyMessage) -> None:
        """A message arrived; it is handled after the write."""
        if self._writing is not None:
            answer = self._raft.heartbeat_response_during(self._writing, message)
            if answer is not None:
                self._send([answer])

    def _beat_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._raft.heartbeat_interval, self._beat)

    def _beat(self) -> None:
        if self._writing is None:
            return
        if self._clock.monotonic() - self._began > PATIENCE_SECONDS:
            log.error("the disk has not written the metadata log for %.0f s", PATIENCE_SECONDS)
            self._writing = None
            return
        self._send(self._raft.heartbeats_during(self._writing))
        self._beat_later()

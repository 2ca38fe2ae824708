"""What a dispatcher returns to the connection of a request.

`parts` are the whole response frame, 4-byte size first; file slices go from the page cache to the socket
and are never copied into Python.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from tidelog.base.ports import Buffer, FileSlice
from tidelog.broker.requests.answer import CloseConnection, LateAnswer

log = logging.getLogger("tidelog.broker")


class Reply(msgspec.Struct, eq=False, gc=False):
    parts: list[Buffer | FileSlice]
    throttle_ms: int = 0
    """The connection's next request waits this long after the response was sent (KIP-219)."""
    close: bool = False
    """Send the response, then close the connection."""


class PendingReply(Protocol):
    """A reply that comes later: a future, or an object that behaves like one."""

    def done(self) -> bool: ...

    def result(self) -> Reply | None: ...

    def cancel(self) -> object: ...

    def add_done_callback(self, then: Callable[[Any], object], /) -> None: ...


class LateReply:
    """The reply for a handler's future, or late answer: encoded when it is sent, with no turn of its own."""

    __slots__ = ("_answer", "_encode")

    def __init__(
        self, answer: "asyncio.Future[Any] | LateAnswer[Any]", encode: Callable[[Any], Reply | None]
    ) -> None:
        self._answer = answer
        self._encode = encode

    def done(self) -> bool:
        return self._answer.done()

    def result(self) -> Reply | None:
        try:
            answer = self._answer.result()
        except CloseConnection as error:
            return closing_reply(error)
        return self._encode(answer)

    def cancel(self) -> None:
        """The client has left. That ends a wait, but not a task, which may be changing the cluster: half of a
        change would be worse than all of it."""
        if isinstance(self._answer, asyncio.Task):
            self._answer.add_done_callback(_log_failure)
        else:
            self._answer.cancel()

    def add_done_callback(self, then: Callable[[Any], object], /) -> None:
        self._answer.add_done_callback(then)


def _log_failure(task: "asyncio.Task[Any]") -> None:
    """No connection is left to report to. Where the answer is to close it, there is nothing to report."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, CloseConnection):
        log.error("%s failed inside the broker after its client had left", task.get_name(), exc_info=error)


def closing_reply(error: CloseConnection) -> Reply:
    log.info("%s", error)
    return Reply([], close=True)

"""A request to another broker that is under way without a task: for callers that always have one pending.

A follower sends a fetch for every record that a quiet cluster writes; a task and its timeout would cost as
much as the request itself. So the caller keeps the time, with one timer for all of its requests.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.base.errors import ProtocolError


class PeerCall:
    __slots__ = ("_answer", "_is_late", "_on_end", "_read", "_then", "deadline")

    def __init__(
        self,
        answer: "asyncio.Future[memoryview]",
        read: Callable[[memoryview], Any],
        deadline: float,
        on_end: Callable[[bool], None],
    ) -> None:
        """`on_end` is called once, with whether the connection may be used for the next request."""
        self._answer = answer
        self._read = read
        self._on_end = on_end
        self._then: Callable[[], None] | None = None
        self._is_late = False
        self.deadline = deadline
        """By the loop's clock: the moment for `give_up`."""
        answer.add_done_callback(self._ended)

    def when_done(self, then: Callable[[], None]) -> None:
        """To be called in the turn that began the request."""
        self._then = then

    @property
    def is_done(self) -> bool:
        return self._answer.done()

    def cancel(self) -> None:
        self._answer.cancel()

    def give_up(self) -> None:
        """The time is over."""
        if not self._answer.done():
            self._is_late = True
            self._answer.cancel()

    def result(self) -> Any:
        """Returns the response. Raises OSError (TimeoutError too) without one: the peer may have acted."""
        if self._is_late:
            raise TimeoutError
        frame = self._answer.result()
        try:
            return self._read(frame)
        except ProtocolError as error:
            self._on_end(False)
            raise ConnectionError(f"the response cannot be read: {error}") from error

    def _ended(self, answer: "asyncio.Future[memoryview]") -> None:
        # Out of time or cancelled: the next request must not queue behind this one. After an error the
        # connection is made again when it is used again.
        is_usable = not answer.cancelled()
        if is_usable:
            answer.exception()  # retrieved here, since `result` may never be called
        self._on_end(is_usable)
        if self._then is not None:
            self._then()

"""What a handler returns: a response, or an awaitable of one.

A handler that can answer at once is a plain function and returns the response, which keeps the busiest
requests free of a task each. A handler that waits returns a future or a `LateAnswer`, or is a coroutine
function.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from enum import Enum
from inspect import isawaitable
from typing import Any, Final, Generic, TypeAlias, TypeVar

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.wire.message import Message


class NoResponse(Enum):
    """The protocol has no response to this request: Produce with acks=0, and Raft."""

    NO_RESPONSE = "no response"


NO_RESPONSE: Final = NoResponse.NO_RESPONSE

Response: TypeAlias = Message | NoResponse
HandlerAnswer: TypeAlias = Response | Awaitable[Response]

ResponseT = TypeVar("ResponseT")


class LateAnswer(Generic[ResponseT]):
    """An answer that is there at the end of a turn of the loop, and leaves at once.

    In place of a future where no task waits: the callbacks of a future wait for one more turn, what they send
    for another, and each turn asks the kernel what happened meanwhile.
    """

    __slots__ = ("_error", "_is_done", "_on_cancel", "_response", "_then")

    def __init__(self, on_cancel: Callable[[], None] | None = None) -> None:
        """`on_cancel` is called if the client leaves before the answer is there."""
        self._response: Any = None
        self._error: Exception | None = None
        self._is_done = False
        self._then: Callable[[Any], object] | None = None
        self._on_cancel = on_cancel

    def done(self) -> bool:
        return self._is_done

    def result(self) -> ResponseT:
        if self._error is not None:
            raise self._error
        response: ResponseT = self._response
        return response

    def cancel(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._then = None
            if self._on_cancel is not None:
                self._on_cancel()

    def add_done_callback(self, then: Callable[[Any], object], /) -> None:
        """To be called before the answer is there."""
        self._then = then

    def set_result(self, response: ResponseT) -> None:
        """Not in the middle of another request: the answer leaves before this returns."""
        self._response = response
        self._end()

    def set_exception(self, error: Exception) -> None:
        self._error = error
        self._end()

    def _end(self) -> None:
        if not self._is_done:  # else the client has left meanwhile
            self._is_done = True
            if self._then is not None:
                self._then(self)

    def __await__(self) -> Generator[Any, None, ResponseT]:
        if not self._is_done:
            awaited = asyncio.get_running_loop().create_future()
            self._then = lambda _: None if awaited.done() else awaited.set_result(None)
            yield from awaited
        return self.result()


class CloseConnection(Exception):
    """Raised by a handler that cannot send an error in a response: closing the connection is the signal.

    Responses to earlier requests of the connection are still sent.
    """

    def __init__(self, connection: ClientConnection, reason: str) -> None:
        super().__init__(f"closing {connection}: {reason}")


async def response_of(answer: ResponseT | Awaitable[ResponseT]) -> ResponseT:
    """Returns the response once it is there, for callers that may wait."""
    return await answer if isawaitable(answer) else answer

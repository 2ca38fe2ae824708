"""A forwarded request is carried out once in a term, however often and however late it arrives.

A broker numbers what it passes on, and says with each request which numbers it waits for no longer. The
controller keeps its answers to the others: a second try gets the first one's answer, and a request that its
sender gave up is refused. No memory outlives the term: a request names the one it is made in, and other terms
refuse it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Uuid
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse

KEPT_MAX = 1000
"""Answers that are kept for one broker; beyond that, it has to wait for those it asked first."""


class ForwardNumbers:
    """The sender's side: which of its requests have no answer yet."""

    def __init__(self) -> None:
        self._next = 0
        self._open: dict[int, None] = {}

    def open(self) -> int:
        number = self._next
        self._next += 1
        self._open[number] = None
        return number

    def close(self, number: int) -> None:
        """It was answered or given up, and is not sent again."""
        del self._open[number]

    @property
    def floor(self) -> int:
        """The sender waits for no number below."""
        return next(iter(self._open), self._next)


class _Sender:
    """What the controller knows of one process of a broker."""

    __slots__ = ("answers", "floor", "incarnation")

    def __init__(self, incarnation: Uuid) -> None:
        self.incarnation = incarnation
        self.floor = 0
        self.answers: dict[int, asyncio.Task[ForwardResponse]] = {}

    def close_below(self, floor: int) -> None:
        if floor > self.floor:
            self.floor = floor
            self.answers = {number: kept for number, kept in self.answers.items() if number >= floor}


class ForwardedOnce:
    """The controller's side."""

    def __init__(self) -> None:
        self._term: Epoch = NO_EPOCH
        self._senders: dict[NodeId, _Sender] = {}
        self._serving: set[asyncio.Task[ForwardResponse]] = set()

    async def answer(
        self, request: ForwardRequest, serve: Callable[[], Coroutine[Any, Any, ForwardResponse]]
    ) -> ForwardResponse:
        """For a request of the present term, from the process that is registered for its broker."""
        if request.term != self._term:
            self._term, self._senders = request.term, {}
        sender = self._senders.get(request.broker_id)
        if sender is None or sender.incarnation != request.incarnation:
            sender = self._senders[request.broker_id] = _Sender(request.incarnation)
        sender.close_below(request.floor)
        if request.number < sender.floor:
            return ForwardResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)
        answer = sender.answers.get(request.number)
        if answer is None:
            if len(sender.answers) >= KEPT_MAX:
                return ForwardResponse(error_code=ErrorCode.NOT_CONTROLLER)  # its sender comes again
            answer = sender.answers[request.number] = self._begin(_served(sender, request.number, serve()))
        # A try that is given up does not end what the next one waits for.
        return await asyncio.shield(answer)

    def _begin(self, serving: Coroutine[Any, Any, ForwardResponse]) -> "asyncio.Task[ForwardResponse]":
        task = asyncio.get_running_loop().create_task(serving, name="forwarded request")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task


async def _served(
    sender: _Sender, number: int, serving: Coroutine[Any, Any, ForwardResponse]
) -> ForwardResponse:
    answer = await serving
    if answer.error_code == ErrorCode.NOT_CONTROLLER:
        # Nothing was done, or this broker leads no longer in this term: the sender asks again in either case.
        sender.answers.pop(number, None)
    return answer

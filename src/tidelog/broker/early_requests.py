"""Requests of clients that come before their broker can serve them: kept, and served in order once it can.

A broker must listen before it knows its cluster, since voters need each other for that. Clients that share
the listener cannot be refused like those of a listener of their own, so they wait: a second or two after a
clean stop. A start that takes longer, as after a crash with much to recover, lets them go, so that they look
for another broker before their own patience is over.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.peer import Peer
from tidelog.broker.reply import PendingReply, Reply

HELD_SECONDS = 25.0
"""Less than the 30 s after which most clients give up by themselves, without a word about why."""

SERVED_PER_TURN = 32

Dispatch = Callable[[memoryview, Peer], Reply | PendingReply | None]


class _Held(NamedTuple):
    frame: memoryview
    peer: Peer
    reply: "asyncio.Future[Reply | None]"
    limit: asyncio.TimerHandle


class EarlyRequests:
    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._held: deque[_Held] = deque()
        self.is_serving = False
        """What is dispatched at this very moment has been held before."""

    def hold(self, frame: memoryview, peer: Peer) -> "asyncio.Future[Reply | None]":
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Reply | None] = loop.create_future()
        limit = loop.call_later(HELD_SECONDS, _let_go, reply)
        self._held.append(_Held(frame, peer, reply, limit))
        return reply

    def serve(self, done: Callable[[], None]) -> None:
        """The broker is ready: answer those that wait, oldest first, then `done`.

        Until then others must be held, too, or they would overtake.
        """
        for _ in range(SERVED_PER_TURN):
            if not self._held:
                done()
                return
            held = self._held.popleft()
            held.limit.cancel()
            if not held.reply.done():
                self._begin(held)
        asyncio.get_running_loop().call_soon(self.serve, done)

    def _begin(self, held: _Held) -> None:
        self.is_serving = True
        try:
            outcome = self._dispatch(held.frame, held.peer)
        except Exception as error:
            held.reply.set_exception(error)  # its connection knows what to do about it
            return
        finally:
            self.is_serving = False
        if outcome is None or isinstance(outcome, Reply):
            held.reply.set_result(outcome)
            return
        pending = outcome
        held.reply.add_done_callback(lambda reply: pending.cancel() if reply.cancelled() else None)
        pending.add_done_callback(lambda _: _pass_on(pending, held.reply))


def _pass_on(outcome: PendingReply, reply: "asyncio.Future[Reply | None]") -> None:
    if reply.done():
        return
    try:
        reply.set_result(outcome.result())
    except asyncio.CancelledError:
        reply.cancel()
    except Exception as error:
        reply.set_exception(error)


def _let_go(reply: "asyncio.Future[Reply | None]") -> None:
    if not reply.done():
        reply.set_result(Reply([], close=True))

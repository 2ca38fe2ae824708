"""Client requests that arrive before the broker can serve them: held, and served in order once it can.

A broker must listen before it has joined its cluster, since voters need each other for that. Clients that
share the listener cannot be refused like those with a listener of their own, so they wait: a second or two
after a clean stop. If the start takes longer, as after a crash with much to recover, their connections are
closed, so that they try another broker before they time out.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply

HELD_SECONDS = 25.0
"""Less than the 30 s after which most clients time out, without a hint at the cause."""

SERVED_PER_TURN = 32

Dispatch = Callable[[memoryview, ClientConnection], Reply | PendingReply | None]


HeldReply = asyncio.Future[Reply | None]


class _Held(NamedTuple):
    frame: memoryview
    connection: ClientConnection
    limit: asyncio.TimerHandle


class EarlyRequests:
    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._held: OrderedDict[HeldReply, _Held] = OrderedDict()
        self.is_serving = False
        """Whether the request that is being dispatched was held before."""

    def hold(self, frame: memoryview, connection: ClientConnection) -> HeldReply:
        loop = asyncio.get_running_loop()
        reply: HeldReply = loop.create_future()
        self._held[reply] = _Held(frame, connection, loop.call_later(HELD_SECONDS, _close, reply))
        reply.add_done_callback(self._forget)
        return reply

    def _forget(self, reply: HeldReply) -> None:
        """Its client has left, or it waited too long: drop the frame, whose memory is no longer counted."""
        held = self._held.pop(reply, None)
        if held is not None:
            held.limit.cancel()

    def serve(self, done: Callable[[], None]) -> None:
        """The broker is ready: dispatch the held requests, oldest first, then call `done`.

        Until then new requests must be held, too, or they would overtake.
        """
        for _ in range(SERVED_PER_TURN):
            if not self._held:
                done()
                return
            reply, held = self._held.popitem(last=False)
            held.limit.cancel()
            if not reply.done():
                self._begin(held, reply)
        asyncio.get_running_loop().call_soon(self.serve, done)

    def _begin(self, held: _Held, reply: HeldReply) -> None:
        self.is_serving = True
        try:
            outcome = self._dispatch(held.frame, held.connection)
        except Exception as error:
            reply.set_exception(error)  # the connection handles it
            return
        finally:
            self.is_serving = False
        if outcome is None or isinstance(outcome, Reply):
            reply.set_result(outcome)
            return
        pending = outcome
        reply.add_done_callback(lambda done: pending.cancel() if done.cancelled() else None)
        pending.add_done_callback(lambda _: _pass_on(pending, reply))


def _pass_on(outcome: PendingReply, reply: HeldReply) -> None:
    if reply.done():
        return
    try:
        reply.set_result(outcome.result())
    except asyncio.CancelledError:
        reply.cancel()
    except Exception as error:
        reply.set_exception(error)


def _close(reply: HeldReply) -> None:
    if not reply.done():
        reply.set_result(Reply([], close=True))

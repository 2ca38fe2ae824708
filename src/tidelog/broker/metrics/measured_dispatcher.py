"""A dispatcher that measures: it takes the place of the broker's own where metrics are wanted.

A request that is answered at once costs two looks at the clock and one observation. The queue is the turn of
the loop: with many connections readable at once, the last request waits for all before it. To know where a
turn begins costs more than all the rest, so a turn in some fifty requests is watched. What waits in the
kernel's buffers meanwhile is the lag of the loop, which has a metric of its own.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable
from struct import Struct
from time import perf_counter
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.broker.metrics.api_times import ApiTimes
from tidelog.broker.metrics.request_metrics import NO_API, NO_KEY, RequestMetrics
from tidelog.broker.metrics.slow_requests import SlowRequest
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.metrics.family import SECONDS
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_request_header

SAMPLED_EVERY = 50
NEVER = float("inf")

_size_of: Callable[[Any], tuple[int]] = Struct(">i").unpack_from
"""Of a response of several parts, without the four bytes that say it: cheaper than the sum of its parts."""


class MeasuredDispatcher:
    def __init__(
        self,
        dispatcher: Dispatcher,
        metrics: RequestMetrics,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.accepted = dispatcher.accepted
        self.certificate_refused = dispatcher.certificate_refused
        self.overlap_group = dispatcher.overlap_group
        self._dispatch = dispatcher.dispatch
        self._metrics = metrics
        self._call_soon = loop.call_soon
        self._clock = clock
        self._times: dict[int, ApiTimes] = {}
        self._turn_began: float | None = None  # of a turn that is watched
        self._until_sample = SAMPLED_EVERY
        self._is_sampling = False

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        clock = self._clock
        began = clock()
        size = len(frame)
        outcome = self._dispatch(frame, connection)  # what raises is no request, and counted elsewhere
        key = frame[0] << 8 | frame[1] if size > 1 else NO_KEY
        times = self._times.get(key) or self._times_of(key)
        times.request_bytes += size
        self._metrics.replied = times
        self._until_sample -= 1
        if self._until_sample < 0:
            self._sample(times, began)
        took = clock() - began
        if outcome is not None:
            if not isinstance(outcome, Reply):
                self._metrics.in_flight += 1
                if connection.client_id is None and self._metrics.slow_seconds < NEVER:
                    _note_client(frame, connection)
                late = MeasuredReply(self, outcome, times, connection, size=size, began=began, took=took)
                if key == ApiKey.PRODUCE and self._metrics.trace_of is not None:
                    late.trace = self._metrics.trace_of(frame)  # the frame is gone when the reply is there
                return late
            parts = outcome.parts
            if parts:
                times.response_bytes += len(parts[0]) if len(parts) == 1 else _size_of(parts[0])[0]
            if outcome.throttle_ms:
                times.throttle.observe(outcome.throttle_ms / 1000)
        at_once = times.at_once
        at_once.counts[bisect_left(SECONDS, took)] += 1
        at_once.sum += took
        if took >= self._metrics.slow_seconds:
            _note_client(frame, connection)
            pause = 0.0 if outcome is None else outcome.throttle_ms / 1000
            trace_of = self._metrics.trace_of if key == ApiKey.PRODUCE else None
            trace = "" if trace_of is None else trace_of(frame)
            self._metrics.slow(SlowRequest(times.name, connection, size, took, 0.0, pause, trace), times)
        return outcome

    def answered(self, late: "MeasuredReply", reply: Reply | None, resumed: float) -> None:
        """The reply that was waited for is there since `resumed`, and encoded now."""
        now, times = self._clock(), late.times
        self._metrics.replied = times
        remote = resumed - late.began - late.took
        local = late.took + now - resumed
        pause = 0.0
        if reply is not None:
            times.response_bytes += sum(map(len, reply.parts))
            pause = reply.throttle_ms / 1000
            if pause:
                times.throttle.observe(pause)
        times.local.observe(local)
        times.remote.observe(remote)
        times.total.observe(total := local + remote)
        if total >= self._metrics.slow_seconds:
            slow = SlowRequest(times.name, late.connection, late.size, local, remote, pause, late.trace)
            self._metrics.slow(slow, times)

    def ended(self) -> None:
        """A request is no longer under way: it was answered, failed, or its client has left."""
        self._metrics.in_flight -= 1

    def now(self) -> float:
        return self._clock()

    def _times_of(self, key: int) -> ApiTimes:
        times = self._metrics.of(key)
        if times.name != NO_API:  # clients choose other keys as they like: no entry for each
            self._times[key] = times
        return times

    def _sample(self, times: ApiTimes, began: float) -> None:
        """From now on to the end of the next turn, with every request."""
        if self._turn_began is not None:
            times.queue.observe(began - self._turn_began)
        elif not self._is_sampling:
            self._is_sampling = True
            self._call_soon(self._turn_begins)

    def _turn_begins(self) -> None:
        """The first that the loop does after it has looked which connections are readable."""
        self._turn_began = self._clock()
        self._call_soon(self._turn_ends)

    def _turn_ends(self) -> None:
        self._turn_began = None
        self._is_sampling = False
        self._until_sample = SAMPLED_EVERY


def _note_client(frame: memoryview, connection: ClientConnection) -> None:
    """The log of slow requests names the client; a connection keeps its client id."""
    try:
        connection.client_id = read_request_header(frame)[0].client_id or ""
    except (ProtocolError, IndexError):  # a bare SASL token
        connection.client_id = ""


class MeasuredReply:
    """A reply that comes later."""

    __slots__ = ("_dispatcher", "_pending", "began", "connection", "size", "times", "took", "trace")

    def __init__(
        self,
        dispatcher: MeasuredDispatcher,
        pending: PendingReply,
        times: ApiTimes,
        connection: ClientConnection,
        *,
        size: int,
        began: float,
        took: float,
    ) -> None:
        self._dispatcher: MeasuredDispatcher | None = dispatcher
        self._pending = pending
        self.times = times
        self.connection = connection
        self.size = size
        self.began = began
        self.took = took
        self.trace = ""

    def done(self) -> bool:
        return self._pending.done()

    def result(self) -> Reply | None:
        dispatcher = self._dispatcher
        if dispatcher is None:
            return self._pending.result()
        resumed = dispatcher.now()
        self._end()
        reply = self._pending.result()
        dispatcher.answered(self, reply, resumed)
        return reply

    def cancel(self) -> None:
        self._end()
        self._pending.cancel()

    def add_done_callback(self, then: Callable[[Any], object], /) -> None:
        self._pending.add_done_callback(then)

    def _end(self) -> None:
        """Once: a request that fails is cancelled besides."""
        if self._dispatcher is not None:
            self._dispatcher.ended()
            self._dispatcher = None

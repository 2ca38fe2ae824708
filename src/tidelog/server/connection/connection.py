"""One client connection: frames in, responses out, in order, within limits.

Everything happens in `_run`, whatever woke it: collect the responses that are ready, dispatch the frames
that have arrived, send, account for memory, and decide whether to read on. Its state is in `state.py`; each
limit is kept by a part of its own (`in_flight`, `memory_claim`, `time_limits`).

Most connections are at rest most of the time: nothing is owed, and what arrives next is one small request
that is answered at once. That request takes the short way, and its response leaves with those of the other
connections at the end of the turn (`outbox`).
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.broker.requests.answer import LateAnswer
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.buffer_pool import POOLED_BYTES
from tidelog.server.connection.in_flight import InFlight
from tidelog.server.connection.memory_claim import MemoryClaim
from tidelog.server.connection.output_queue import OutputQueue
from tidelog.server.connection.receive_buffer import FrameRefused, ReceiveBuffer
from tidelog.server.connection.shared_state import SharedState, log
from tidelog.server.connection.state import AT_REST, BUSY, CLOSED, DRAINING, LINGERING, ConnectionState
from tidelog.server.connection.time_limits import TimeLimits
from tidelog.server.connection.transport import ResponseWriter, Transport
from tidelog.server.connection.writer import client_is_gone

# Larger responses leave at once: memory for those of all connections is not held until the end of a turn.
SENT_LATER_BYTES_MAX = 4 * 1024


class ServerConnection:
    __slots__ = (
        "_in_flight",
        "_local_port",
        "_memory",
        "_mute",
        "_muted_until",
        "_receive",
        "_scheduled",
        "_shared",
        "_state",
        "_time_limits",
        "_transport",
        "_writer",
        "client",
        "output",
    )

    def __init__(self, shared: SharedState, client: ClientConnection, local_port: int) -> None:
        shared.dispatcher.accepted(client)
        self.client = client
        self.output = OutputQueue()
        self._shared = shared
        self._local_port = local_port
        self._state: ConnectionState = BUSY
        self._receive = ReceiveBuffer(shared.chunk, shared.limits.frame_bytes_max, shared.pool)
        self._in_flight = InFlight(shared.pool)
        self._memory = MemoryClaim(shared.budget, shared.counters)
        self._time_limits = TimeLimits(self._receive, self._in_flight, self.output, self._memory, shared.now)
        self._transport: Transport
        self._writer: ResponseWriter
        self._mute: asyncio.TimerHandle | None = None  # until a quota allows the next request
        self._muted_until = 0.0
        self._scheduled = False  # `wake` is about to be called
        if client.gate is not None:
            client.gate.on_change = self._gate_changed
            client.gate.on_failure = self._not_authenticated
            self._gate_changed()

    def start(self, transport: Transport, writer: ResponseWriter) -> None:
        """`writer` sends from `output`."""
        self._transport = transport
        self._writer = writer
        self._shared.connections.add(self)
        self._read_on()

    @property
    def last_read(self) -> float:
        """When the client last sent something, as exact as a tick."""
        return self._time_limits.last_read

    # What the transport calls.

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._state is AT_REST:
            return self._shared.chunk_window()
        return self._receive.writable() or self._shared.chunk_window()

    def buffer_updated(self, nbytes: int) -> None:
        shared = self._shared
        shared.counters.bytes_in += nbytes
        self._time_limits.last_read = shared.now
        state = self._state
        if state is AT_REST and (frame := self._receive.only_frame(nbytes)) is not None:
            self._guarded(self._answer_alone, frame)
        elif state is not LINGERING and self._receive.received(nbytes):
            self._run()

    def expects_more(self) -> bool:
        return self._receive.writable() is not None

    def eof_received(self) -> None:
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            log.debug("%s: connection lost: %s", self.client, exc)
        self._close()

    # What wakes the connection besides bytes.

    def wake(self) -> None:
        """Output moved, a mute ended, or it is this connection's turn again."""
        self._scheduled = False
        if self._state is not CLOSED:
            self._run()

    def send(self) -> None:
        """The turn is over: now the responses leave."""
        if self._state is not CLOSED:
            self._guarded(self._send_out, False)

    # The one loop.

    def _run(self) -> None:
        if self._state is AT_REST:
            self._state = BUSY
        self._guarded(self._take_turn, None)

    def _guarded(self, step: Callable[[Any], None], given: object) -> None:
        """A failure in a step ends this connection at most."""
        try:
            step(given)
        except FrameRefused as error:
            self._refuse(error.cause, f"{error} on port {self._local_port}")
        except ProtocolError as error:
            self._refuse("protocol", f"broke the protocol: {error}")
        except StorageError as error:
            log.error("%s: %s; closing", self.client, error)
            self.abort()
        except asyncio.CancelledError:
            log.debug("%s: a request was cancelled by the broker; closing", self.client)
            self._close()
        except Exception:
            log.exception("%s: a request failed inside the broker; closing the connection", self.client)
            self.abort()

    def _answer_alone(self, frame: memoryview) -> None:
        """The short way: the only thing to do is this request."""
        shared = self._shared
        shared.counters.requests += 1
        outcome = shared.dispatcher.dispatch(frame, self.client)
        if isinstance(outcome, Reply):
            self._answer(outcome)
            if self.output.pending_bytes <= SENT_LATER_BYTES_MAX:
                shared.outbox.add(self)
                return
        elif outcome is not None:
            self._wait_for(outcome, frame)
            if not self._blocked():
                self._memory.count(0, self._in_flight.memory_bytes + self.output.memory_bytes)
                return
        self._send_out(False)

    def _answer_late(self, at_once: bool) -> None:
        """The short way of a request that waited, with no other frame behind it."""
        for reply in self._in_flight.take_ready():
            self._answer(reply)
        if 0 < self.output.pending_bytes <= SENT_LATER_BYTES_MAX and not at_once:
            self._shared.outbox.add(self)
        else:
            self._send_out(False)

    def _take_turn(self, _: None) -> None:
        in_flight = self._in_flight
        if in_flight.count:
            for reply in in_flight.take_ready():
                self._answer(reply)
        turn_is_over = self._dispatch()
        pending = self.output.pending_bytes
        if turn_is_over or not 0 < pending <= SENT_LATER_BYTES_MAX or self._receive.mid_frame:
            self._send_out(turn_is_over)
        else:
            self._shared.outbox.add(self)

    def _send_out(self, turn_is_over: bool) -> None:
        self._flush()
        state = self._state
        if state is not AT_REST and state is not CLOSED:
            self._end_turn(turn_is_over)

    def _dispatch(self) -> bool:
        """Start requests until none is left, a limit is met (False) or the turn is over (True)."""
        shared = self._shared
        limits = shared.limits
        in_flight = self._in_flight
        memory = self._memory
        output = self.output
        next_frame = self._receive.next_frame
        dispatch = shared.dispatcher.dispatch
        may_go_on = not self._blocked()
        for _ in range(limits.requests_per_turn):
            if output.pending_bytes > limits.output_bytes_max:
                self._flush()
                may_go_on = not self._blocked()
            if not may_go_on:
                return False
            frame = next_frame() if in_flight.put_off is None else in_flight.put_off
            if frame is None:
                return False
            if memory.promised or memory.in_line:
                memory.frame_arrived(self)
            if in_flight.count and in_flight.must_wait(shared.dispatcher.overlap_group(frame)):
                in_flight.put_off = frame
                return False
            in_flight.put_off = None
            shared.counters.requests += 1
            outcome = dispatch(frame, self.client)
            if outcome is None or (isinstance(outcome, Reply) and not in_flight.count):
                if outcome is not None:
                    self._answer(outcome)
                    may_go_on = self._state is BUSY and self._mute is None
                if len(frame) >= POOLED_BYTES:
                    buffer, frame = frame.obj, None  # our own view would keep it from being used again
                    shared.pool.give(buffer)
                continue
            self._wait_for(outcome, frame)
            may_go_on = not self._blocked()
        return True

    def _wait_for(self, outcome: Reply | PendingReply, frame: memoryview) -> None:
        if self._state is AT_REST:
            self._state = BUSY
        self._in_flight.overlap_group = self._shared.dispatcher.overlap_group(frame)
        self._in_flight.add(outcome, frame)
        if not isinstance(outcome, Reply):
            outcome.add_done_callback(self._future_done)

    def _future_done(self, done: object) -> None:
        in_flight = self._in_flight
        is_alone = in_flight.count == 1 and in_flight.put_off is None and not self._receive.mid_frame
        if is_alone and self._state is BUSY and not self._scheduled:
            self._guarded(self._answer_late, type(done) is LateAnswer)
        else:
            self._schedule()

    def _answer(self, reply: Reply) -> None:
        self.output.put(reply.parts)
        if reply.throttle_ms > 0:
            self._mute_for(reply.throttle_ms / 1000)
        if reply.close:
            self._state = DRAINING

    def _flush(self) -> None:
        output = self.output
        if output.pending_bytes and self._state is not CLOSED:
            before = output.sent_bytes
            try:
                self._writer.flush()
            except OSError as error:
                if not client_is_gone(error):
                    log.error("%s: cannot send an answer: %s; closing", self.client, error)
                self._close()
                return
            self._shared.counters.bytes_out += output.sent_bytes - before
            if output.pending_bytes and self._state is AT_REST:
                self._state = BUSY
        if self._state is DRAINING and not output.pending_bytes and not self._in_flight.count:
            self._linger()

    # Whether it goes on.

    def _blocked(self) -> bool:
        """Returns whether the next request must wait, or is not taken any more."""
        limits = self._shared.limits
        in_flight = self._in_flight
        return (
            self._state is not BUSY
            or self._mute is not None
            or (in_flight.put_off is not None and in_flight.count > 0)
            or in_flight.count >= limits.in_flight_max
            or in_flight.bytes >= limits.in_flight_bytes_max
            or self.output.pending_bytes > limits.output_bytes_max
        )

    def _end_turn(self, turn_is_over: bool) -> None:
        """Account for memory, then read on, wait for another turn, or pause."""
        receive, memory = self._receive, self._memory
        if (
            self._state is BUSY
            and not (turn_is_over or self._in_flight.count or self.output.pending_bytes or receive.mid_frame)
            and self._mute is None
            and self._transport.reading
            and not memory.in_line
        ):  # all is done, as after most turns
            receive.keep()
            memory.count(receive.held_bytes, 0)
            self._state = AT_REST
            return
        may_read = not turn_is_over and not self._blocked()
        read_on = may_read and memory.make_room(self, receive, self._shared.now)
        receive.keep()
        memory.count(receive.held_bytes, self._in_flight.memory_bytes + self.output.memory_bytes)
        if self._state is LINGERING:
            return
        if may_read and not read_on:
            read_on = not memory.in_line  # what it gave back just now was what it waited for
        if turn_is_over:
            self._schedule()
        if not read_on:
            self._transport.pause_reading()
            return
        self._read_on()
        if not (self._in_flight.count or self.output.pending_bytes or receive.mid_frame):
            self._state = AT_REST

    def _read_on(self) -> None:
        if not self._transport.reading:
            self._time_limits.last_read = self._shared.now
            self._transport.resume_reading()

    def _schedule(self) -> None:
        if not self._scheduled and self._state is not CLOSED:
            self._scheduled = True
            self._shared.loop.call_soon(self.wake)

    def _mute_for(self, seconds: float) -> None:
        if self._state is AT_REST:
            self._state = BUSY
        until = self._shared.loop.time() + seconds
        if self._mute is not None:
            if self._muted_until >= until:
                return  # an earlier response asked for a longer pause
            self._mute.cancel()
        self._muted_until = until
        self._mute = self._shared.loop.call_at(until, self._unmute)

    def _unmute(self) -> None:
        self._mute = None
        self._schedule()

    # What the gate of a listener with SASL calls.

    def _gate_changed(self) -> None:
        gate, frame_bytes_max = self.client.gate, self._shared.limits.frame_bytes_max
        self._receive.frame_bytes_max = (
            frame_bytes_max if gate is None else gate.frame_bytes_max(frame_bytes_max)
        )

    def _not_authenticated(self, reason: str) -> None:
        self._shared.refuse("authentication", f"{self.client} on port {self._local_port} {reason}; closing")

    # What the memory budget calls.

    @property
    def begun_bytes(self) -> int:
        return self._receive.held_bytes

    def memory_granted(self, count: int) -> None:
        self._memory.granted(count)
        self._receive.grow()
        self._time_limits.last_read = self._shared.now
        if not self._blocked():
            self._read_on()

    def is_late(self, now: float, deadline: float) -> bool:
        """Only while this end reads: otherwise the client cannot help it."""
        quiet = now - self._time_limits.last_read
        return self._transport.reading and (now >= deadline or quiet >= self._shared.limits.stall_seconds)

    def memory_overdue(self) -> None:
        self._refuse("memory", "did not finish a frame while memory was short")

    # The end.

    def sweep(self, now: float) -> None:
        """Called with every tick: end the connection if it is beyond a limit of time."""
        limits, time_limits = self._shared.limits, self._time_limits
        if self._state is LINGERING:
            if now - time_limits.last_busy >= limits.linger_seconds:
                self._close()
            return
        gate = self.client.gate
        if gate is not None and gate.is_overdue(now):
            self._shared.counters.connections_timed_out += 1
            self._not_authenticated("did not authenticate in time")
            self.abort()
            return
        overdue = time_limits.overdue(now, limits, self._transport, self._writer)
        if overdue is None:
            return
        if overdue.cause is None:
            log.debug("%s %s; closing", self.client, overdue.what)
            self._close()
        else:
            self._shared.counters.connections_timed_out += 1
            self._shared.refuse(overdue.cause, f"{self.client} {overdue.what}; closing")
            self.abort()

    def finish(self) -> None:
        """Take no more requests, answer those under way, then close."""
        if self._state is AT_REST or self._state is BUSY:
            self._state = DRAINING
            self._schedule()

    def abort(self) -> None:
        if self._state is not CLOSED:
            self._release()
            self._transport.abort()

    def _close(self) -> None:
        if self._state is not CLOSED:
            self._release()
            self._transport.close()

    def _refuse(self, cause: str, what: str) -> None:
        self._shared.counters.protocol_errors += 1
        self._shared.refuse(cause, f"{self.client} {what}; closing")
        with contextlib.suppress(OSError, StorageError):
            self._writer.flush()  # earlier requests are answered
        self._close()

    def _linger(self) -> None:
        if not self._transport.has_unread_input():
            self._close()
            return
        self._state = LINGERING
        self._time_limits.last_busy = self._shared.now
        self._transport.end_of_answers()
        self._read_on()

    def _release(self) -> None:
        """Give back all that it holds: references to a closed connection may live on for a while."""
        self._state = CLOSED
        shared = self._shared
        shared.connections.discard(self)
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
        if self.client.gate is not None:
            self.client.gate.end()
        self._receive.drop()
        self._writer.close()
        self.output.clear()
        self._in_flight.cancel()
        if self.client.on_closed is not None:
            self.client.closed()
        self._memory.release(self)
        shared.on_end(self)

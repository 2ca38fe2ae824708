"""One client connection: frames in, answers out, in order, within limits.

Everything happens in `_run`, whatever woke it: collect the answers that are due, dispatch the frames
that have arrived, send, account for memory, and decide whether to read on. Driven as a
BufferedProtocol by `PlainTransport`.

Most connections are at rest most of the time: nothing is owed, and what arrives next is one small request
that is answered at once. That request takes the short way, and its answer leaves with those of the other
connections at the end of the turn (`outbox`).
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.broker.peer import Peer
from tidelog.broker.reply import Reply
from tidelog.server.answers import Answers, Outcome
from tidelog.server.buffer_pool import POOLED_BYTES
from tidelog.server.receive_buffer import FrameRefused, ReceiveBuffer
from tidelog.server.shared_state import SharedState, log
from tidelog.server.writer import Writer, peer_is_gone

# Larger answers leave at once: memory for those of all connections is not held until the end of a turn.
SENT_LATER_BYTES_MAX = 4 * 1024


class Transport(Protocol):
    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def has_unread_input(self) -> bool: ...

    def end_of_answers(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_answers",
        "_at_rest",
        "_claimed",
        "_closed",
        "_finishing",
        "_held",
        "_in_line",
        "_last_busy",
        "_last_read",
        "_lingering",
        "_local_port",
        "_mute",
        "_reading",
        "_receive",
        "_scheduled",
        "_sent_mark",
        "_shared",
        "_transport",
        "_unread_since",
        "_writer",
        "peer",
    )

    def __init__(self, shared: SharedState, peer: Peer, local_port: int) -> None:
        self.peer = peer
        self._shared = shared
        self._local_port = local_port
        self._receive = ReceiveBuffer(shared.chunk, shared.limits.frame_bytes_max, shared.pool)
        self._answers = Answers(shared.pool)
        self._transport: Transport
        self._writer: Writer
        self._at_rest = False  # nothing is owed, nothing is half received, nothing forbids the next request
        self._held = 0  # bytes counted in the shared budget
        self._reading = False
        self._in_line = False  # for memory
        self._claimed = False  # memory for the frame under way
        self._scheduled = False
        self._mute: asyncio.TimerHandle | None = None
        self._finishing = False  # no more requests; close when the answers are out
        self._lingering = False  # answers are out; the peer may take them
        self._closed = False
        self._last_read = self._last_busy = shared.now
        self._unread_since: float | None = None
        self._sent_mark = 0

    def start(self, transport: Transport, writer: Writer) -> None:
        self._transport = transport
        self._writer = writer
        self._shared.connections.add(self)
        self._read_on()

    # What the transport calls.

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._at_rest:
            return self._shared.chunk_window()
        return self._receive.writable() or self._shared.chunk_window()

    def buffer_updated(self, nbytes: int) -> None:
        shared = self._shared
        shared.counters.bytes_in += nbytes
        self._last_read = shared.now
        if self._at_rest and (frame := self._receive.only_frame(nbytes)) is not None:
            self._guarded(self._answer_alone, frame)
        elif not self._lingering and self._receive.received(nbytes):
            self._run()

    def eof_received(self) -> None:
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            log.debug("%s: connection lost: %s", self.peer, exc)
        self._close()

    # What wakes the connection besides bytes.

    def wake(self) -> None:
        """Output moved, a mute ended, or it is this connection's turn again."""
        self._scheduled = False
        if not self._closed:
            self._run()

    def memory_granted(self, count: int) -> None:
        self._in_line = False
        self._held += count
        self._receive.grow()
        self._last_read = self._shared.now
        if not self._blocked():
            self._read_on()

    def memory_overdue(self) -> None:
        self._refuse("memory", "did not finish a frame while memory was short")

    def send(self) -> None:
        """The turn is over: now the answers leave."""
        if not self._closed:
            self._guarded(self._send_out, False)

    # The one loop.

    def _run(self) -> None:
        self._at_rest = False
        self._guarded(self._take_turn, None)

    def _guarded(self, step: Callable[[Any], None], given: object) -> None:
        """Whatever goes wrong in a step ends this connection at most."""
        try:
            step(given)
        except FrameRefused as error:
            self._refuse(error.cause, f"{error} on port {self._local_port}")
        except ProtocolError as error:
            self._refuse("protocol", f"broke the protocol: {error}")
        except StorageError as error:
            log.error("%s: %s; closing", self.peer, error)
            self._abort()
        except asyncio.CancelledError:
            log.debug("%s: a request was cancelled by the broker; closing", self.peer)
            self._close()
        except Exception:
            log.exception("%s: a request failed inside the broker; closing the connection", self.peer)
            self._abort()

    def _answer_alone(self, frame: memoryview) -> None:
        """The short way: the only thing to do is this request."""
        shared = self._shared
        shared.counters.requests += 1
        outcome = shared.dispatcher.dispatch(frame, self.peer)
        if isinstance(outcome, Reply):
            self._answer(outcome)
            if self._writer.pending_bytes <= SENT_LATER_BYTES_MAX:
                shared.outbox.add(self)
                return
        elif outcome is not None:
            self._wait_for(outcome, frame)
        self._send_out(False)

    def _take_turn(self, _: None) -> None:
        self._collect()
        turn_is_over = self._dispatch()
        pending = self._writer.pending_bytes
        if turn_is_over or not 0 < pending <= SENT_LATER_BYTES_MAX or self._receive.mid_frame:
            self._send_out(turn_is_over)
        else:
            self._receive.keep()
            self._shared.outbox.add(self)

    def _send_out(self, turn_is_over: bool) -> None:
        self._flush()
        if not (self._at_rest or self._closed):
            self._settle(turn_is_over)

    def _collect(self) -> None:
        if self._answers.count:
            for reply in self._answers.take_ready():
                self._answer(reply)

    def _dispatch(self) -> bool:
        """Start requests until none is left, a limit is met (False) or the turn is over (True)."""
        shared = self._shared
        limits = shared.limits
        answers = self._answers
        writer = self._writer
        next_frame = self._receive.next_frame
        dispatch = shared.dispatcher.dispatch
        may_go_on = not self._blocked()
        for _ in range(limits.requests_per_turn):
            if writer.pending_bytes > limits.output_bytes_max:
                self._flush()
                may_go_on = not self._blocked()
            if not may_go_on:
                return False
            frame = next_frame()
            if frame is None:
                return False
            if self._claimed:
                self._claimed = self._in_line = False
                shared.budget.frame_arrived(self)
            shared.counters.requests += 1
            outcome = dispatch(frame, self.peer)
            if outcome is None or (isinstance(outcome, Reply) and not answers.count):
                if outcome is not None:
                    self._answer(outcome)
                    may_go_on = not (self._finishing or self._mute)
                if len(frame) >= POOLED_BYTES:
                    buffer, frame = frame.obj, None  # our own view would keep it from being used again
                    shared.pool.give(buffer)
                continue
            self._wait_for(outcome, frame)
            may_go_on = not self._blocked()
        return True

    def _wait_for(self, outcome: Outcome, frame: memoryview) -> None:
        self._at_rest = False
        self._answers.add(outcome, frame)
        if not isinstance(outcome, Reply):
            outcome.add_done_callback(self._future_done)

    def _answer(self, reply: Reply) -> None:
        self._writer.put(reply.parts)
        if reply.throttle_ms > 0:
            self._at_rest = False
            self._mute_for(reply.throttle_ms / 1000)
        if reply.close:
            self._at_rest = False
            self._finishing = True

    def _flush(self) -> None:
        writer = self._writer
        if writer.pending_bytes and not self._closed:
            before = writer.sent_bytes
            try:
                writer.flush()
            except OSError as error:
                if not peer_is_gone(error):
                    log.error("%s: cannot send an answer: %s; closing", self.peer, error)
                self._close()
                return
            self._shared.counters.bytes_out += writer.sent_bytes - before
            if writer.pending_bytes:
                self._at_rest = False
        done = not writer.pending_bytes and not self._answers.count
        if done and self._finishing and not self._lingering and not self._closed:
            self._linger()

    def _settle(self, turn_is_over: bool) -> None:
        read_on = not turn_is_over and not self._blocked() and self._has_room()
        receive = self._receive
        receive.keep()
        held = receive.held_bytes + self._answers.bytes + self._writer.memory_bytes
        if held != self._held:
            more, self._held = held - self._held, held
            self._shared.budget.change(more)
        if self._lingering:
            return
        if turn_is_over:
            self._schedule()
        if read_on:
            self._read_on()
            self._at_rest = not (self._answers.count or self._writer.pending_bytes or receive.mid_frame)
        else:
            self._pause()

    def _has_room(self) -> bool:
        receive = self._receive
        budget = self._shared.budget
        wanted = receive.room_wanted(short=budget.exhausted)
        if not wanted:
            if self._in_line:  # others gave enough back meanwhile
                self._in_line = False
                budget.leave_line(self)
            return True
        if self._in_line:
            return False
        self._claimed = True
        if not budget.take(self, wanted, receive.frame_size, self._shared.now):
            self._in_line = True
            self._shared.counters.memory_stalls += 1
            return False
        self._held += wanted
        receive.grow()
        return True

    def _blocked(self) -> bool:
        limits = self._shared.limits
        answers = self._answers
        return (
            self._finishing
            or self._mute is not None
            or answers.count >= limits.in_flight_max
            or answers.bytes >= limits.in_flight_bytes_max
            or self._writer.pending_bytes > limits.output_bytes_max
        )

    def _future_done(self, _: object) -> None:
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and not self._closed:
            self._scheduled = True
            self._shared.loop.call_soon(self.wake)

    def _mute_for(self, seconds: float) -> None:
        if self._mute is not None:
            self._mute.cancel()
        self._mute = self._shared.loop.call_later(seconds, self._unmute)

    def _unmute(self) -> None:
        self._mute = None
        self._schedule()

    def _read_on(self) -> None:
        if not self._reading:
            self._reading = True
            self._last_read = self._shared.now
            self._transport.resume_reading()

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    # Limits of time, and the end.

    def sweep(self, now: float) -> None:
        """Called at every tick: end what has waited beyond its limit."""
        limits = self._shared.limits
        if self._lingering:
            if now - self._last_busy >= limits.linger_seconds:
                self._close()
            return
        unread = self._unread_for(now)
        if unread >= limits.unread_answer_seconds:
            self._time_out("unread answers", f"took no byte of its answers for {unread:.1f} s")
            return
        if self._answers.count or self._unread_since is not None:
            self._last_busy = now
        if not self._reading:
            return
        quiet = now - self._last_read
        if self._receive.mid_frame:
            if quiet >= limits.half_frame_seconds:
                self._time_out("half frames", f"sent half a frame, then nothing for {quiet:.1f} s")
        elif quiet >= limits.idle_seconds and now - self._last_busy >= limits.idle_seconds:
            log.debug("%s: idle for %.1f s; closing", self.peer, quiet)
            self._close()

    def _unread_for(self, now: float) -> float:
        """Seconds since the peer last took a byte of the answers that wait for it."""
        writer = self._writer
        if not writer.pending_bytes:
            self._unread_since = None
            return 0.0
        if self._unread_since is None or writer.waits_for_disk or writer.sent_bytes != self._sent_mark:
            self._sent_mark = writer.sent_bytes
            self._unread_since = now
        return now - self._unread_since

    def finish(self) -> None:
        """Take no more requests, answer those under way, then close."""
        if not self._finishing and not self._closed:
            self._finishing = True
            self._at_rest = False
            self._schedule()

    def abort(self) -> None:
        self._abort()

    def _refuse(self, cause: str, what: str) -> None:
        self._shared.counters.protocol_errors += 1
        self._shared.refuse(cause, f"{self.peer} {what}; closing")
        with contextlib.suppress(OSError, StorageError):
            self._writer.flush()  # what was asked before is answered
        self._close()

    def _time_out(self, cause: str, what: str) -> None:
        self._shared.counters.connections_timed_out += 1
        self._shared.refuse(cause, f"{self.peer} {what}; closing")
        self._abort()

    def _linger(self) -> None:
        if not self._transport.has_unread_input():
            self._close()
            return
        # Closing with unread input resets the connection, which may destroy the last answer on its way.
        self._lingering = True
        self._last_busy = self._shared.now
        self._transport.end_of_answers()
        self._read_on()

    def _abort(self) -> None:
        if not self._closed:
            self._let_go()
            self._transport.abort()

    def _close(self) -> None:
        if not self._closed:
            self._let_go()
            self._transport.close()

    def _let_go(self) -> None:
        self._closed = self._finishing = True
        self._at_rest = False
        shared = self._shared
        shared.connections.discard(self)
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
        self._writer.close()
        self._answers.cancel()
        shared.budget.forget(self)
        held, self._held = self._held, 0
        shared.budget.change(-held)
        shared.on_end(self)

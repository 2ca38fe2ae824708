"""One client connection: frames in, answers out, in order, within limits.

Everything happens in `_run`, whatever woke it: collect the answers that are due, dispatch the frames
that have arrived, send, account for memory, and decide whether to read on. Driven as a
BufferedProtocol by `PlainTransport`. A request that may not overlap with those before it is put off until
their answers are there (`broker/requests/request_order.py`).

Most connections are at rest most of the time: nothing is owed, and what arrives next is one small request
that is answered at once. That request takes the short way, and its answer leaves with those of the other
connections at the end of the turn (`outbox`).
"""

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.answers import Outcome
from tidelog.server.connection.bounded_connection import BoundedConnection
from tidelog.server.connection.buffer_pool import POOLED_BYTES
from tidelog.server.connection.receive_buffer import FrameRefused
from tidelog.server.connection.shared_state import log
from tidelog.server.connection.writer import client_is_gone

# Larger answers leave at once: memory for those of all connections is not held until the end of a turn.
SENT_LATER_BYTES_MAX = 4 * 1024


class Connection(BoundedConnection):
    __slots__ = ()

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
            log.debug("%s: connection lost: %s", self.client, exc)
        self._close()

    # What wakes the connection besides bytes.

    def wake(self) -> None:
        """Output moved, a mute ended, or it is this connection's turn again."""
        self._scheduled = False
        if not self._closed:
            self._run()

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
            log.error("%s: %s; closing", self.client, error)
            self._abort()
        except asyncio.CancelledError:
            log.debug("%s: a request was cancelled by the broker; closing", self.client)
            self._close()
        except Exception:
            log.exception("%s: a request failed inside the broker; closing the connection", self.client)
            self._abort()

    def _answer_alone(self, frame: memoryview) -> None:
        """The short way: the only thing to do is this request."""
        shared = self._shared
        shared.counters.requests += 1
        outcome = shared.dispatcher.dispatch(frame, self.client)
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
            frame = next_frame() if self._put_off is None else self._put_off
            if frame is None:
                return False
            if self._promised or self._in_line:
                self._promised = 0
                self._in_line = False
                shared.budget.frame_arrived(self)
            if answers.count and (self._alone or not shared.dispatcher.may_overlap(frame)):
                self._put_off = frame
                return False
            self._put_off = None
            shared.counters.requests += 1
            outcome = dispatch(frame, self.client)
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
        self._alone = not self._shared.dispatcher.may_overlap(frame)
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
                if not client_is_gone(error):
                    log.error("%s: cannot send an answer: %s; closing", self.client, error)
                self._close()
                return
            self._shared.counters.bytes_out += writer.sent_bytes - before
            if writer.pending_bytes:
                self._at_rest = False
        done = not writer.pending_bytes and not self._answers.count
        if done and self._finishing and not self._lingering and not self._closed:
            self._linger()

    def _settle(self, turn_is_over: bool) -> None:
        may_read = not turn_is_over and not self._blocked()
        read_on = may_read and self._has_room()
        receive = self._receive
        receive.keep()
        self._count_memory()
        if self._lingering:
            return
        if may_read and not read_on:
            read_on = not self._in_line  # what it gave back just now was what it waited for
        if turn_is_over:
            self._schedule()
        if read_on:
            self._read_on()
            self._at_rest = not (self._answers.count or self._writer.pending_bytes or receive.mid_frame)
        else:
            self._pause()

    def _future_done(self, _: object) -> None:
        self._schedule()

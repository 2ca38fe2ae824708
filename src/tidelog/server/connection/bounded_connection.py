"""What one connection may take, and how it ends: memory, time, the limits of its client.

The part of a connection that has nothing to do with requests. `Connection` goes on from here.
"""

import asyncio
import contextlib
from abc import abstractmethod
from typing import Protocol

from tidelog.base.errors import StorageError
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.server.connection.answers import Answers
from tidelog.server.connection.receive_buffer import ReceiveBuffer
from tidelog.server.connection.shared_state import SharedState, log
from tidelog.server.connection.writer import Writer


class Transport(Protocol):
    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def has_unread_input(self) -> bool: ...

    def client_has_left(self) -> bool: ...

    def end_of_answers(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class BoundedConnection(asyncio.BufferedProtocol):
    __slots__ = (
        "_alone",
        "_answers",
        "_at_rest",
        "_closed",
        "_finishing",
        "_held",
        "_in_line",
        "_last_busy",
        "_last_read",
        "_lingering",
        "_local_port",
        "_mute",
        "_promised",
        "_put_off",
        "_reading",
        "_receive",
        "_scheduled",
        "_sent_mark",
        "_shared",
        "_transport",
        "_unread_since",
        "_writer",
        "client",
    )

    def __init__(self, shared: SharedState, client: ClientConnection, local_port: int) -> None:
        self.client = client
        self._shared = shared
        self._local_port = local_port
        self._receive = ReceiveBuffer(shared.chunk, shared.limits.frame_bytes_max, shared.pool)
        self._answers = Answers(shared.pool)
        self._transport: Transport
        self._writer: Writer
        self._alone = False  # the newest request under way lets no other begin before its answer is there
        self._put_off: memoryview | None = None  # a request that waits for all before it
        self._at_rest = False  # nothing is owed, nothing is half received, nothing forbids the next request
        self._held = 0  # bytes counted in the shared budget
        self._reading = False
        self._in_line = False  # for memory
        self._promised = 0  # memory that the frame under way may take
        self._scheduled = False
        self._mute: asyncio.TimerHandle | None = None
        self._finishing = False  # no more requests; close when the answers are out
        self._lingering = False  # answers are out; the client may take them
        self._closed = False
        self._last_read = self._last_busy = shared.now
        self._unread_since: float | None = None
        self._sent_mark = 0

    def start(self, transport: Transport, writer: Writer) -> None:
        self._transport = transport
        self._writer = writer
        self._shared.connections.add(self)
        self._read_on()

    @abstractmethod
    def wake(self) -> None:
        """Output moved, a mute ended, or it is this connection's turn again."""

    # Memory.

    @property
    def begun_bytes(self) -> int:
        return self._receive.held_bytes

    def memory_granted(self, count: int) -> None:
        self._in_line = False
        self._promised = count
        self._held += count
        self._receive.grow()
        self._last_read = self._shared.now
        if not self._blocked():
            self._read_on()

    def is_late(self, now: float, due: float) -> bool:
        """Not where this end does not read: then the client cannot help it."""
        return self._reading and (now >= due or now - self._last_read >= self._shared.limits.stall_seconds)

    def memory_overdue(self) -> None:
        self._refuse("memory", "did not finish a frame while memory was short")

    def _count_memory(self) -> None:
        held = self._receive.held_bytes
        held = max(held, self._promised)
        held += self._answers.bytes + self._writer.memory_bytes
        if self._put_off is not None:
            held += len(self._put_off)
        if held != self._held:
            more, self._held = held - self._held, held
            self._shared.budget.change(more)

    def _has_room(self) -> bool:
        receive = self._receive
        budget = self._shared.budget
        if not receive.room_wanted(short=budget.exhausted):
            if self._in_line:  # others gave enough back meanwhile
                self._in_line = False
                budget.leave_line(self)
            return True
        if self._in_line:
            return False
        if not self._promised:
            claim = min(receive.frame_room, budget.limit)
            if not budget.take(self, claim, receive.frame_size, self._shared.now):
                self._in_line = True
                self._shared.counters.memory_stalls += 1
                return False
            self._promised = claim
            self._held += claim
        receive.grow()
        return True

    # Whether it goes on.

    def _blocked(self) -> bool:
        limits = self._shared.limits
        answers = self._answers
        return (
            self._finishing
            or self._mute is not None
            or (self._put_off is not None and answers.count > 0)
            or answers.count >= limits.in_flight_max
            or answers.bytes >= limits.in_flight_bytes_max
            or self._writer.pending_bytes > limits.output_bytes_max
        )

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
        quiet = now - self._last_read
        if not self._reading:
            if self._in_line:
                self._sweep_waiting(quiet)
            return
        if self._receive.mid_frame:
            if quiet >= limits.half_frame_seconds:
                self._time_out("half frames", f"sent half a frame, then nothing for {quiet:.1f} s")
        elif quiet >= limits.idle_seconds and now - self._last_busy >= limits.idle_seconds:
            log.debug("%s: idle for %.1f s; closing", self.client, quiet)
            self._close()

    def _sweep_waiting(self, quiet: float) -> None:
        """Nothing is read while it waits for memory, so it does not hear that its client has gone, either."""
        if self._transport.client_has_left():
            self._close()
        elif quiet >= self._shared.limits.half_frame_seconds:
            self._time_out("half frames", f"sent half a frame, and memory was short for {quiet:.1f} s")

    def _unread_for(self, now: float) -> float:
        """Seconds since the client last took a byte of the answers that wait for it."""
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
        self._shared.refuse(cause, f"{self.client} {what}; closing")
        with contextlib.suppress(OSError, StorageError):
            self._writer.flush()  # what was asked before is answered
        self._close()

    def _time_out(self, cause: str, what: str) -> None:
        self._shared.counters.connections_timed_out += 1
        self._shared.refuse(cause, f"{self.client} {what}; closing")
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
        # Somebody may still know this connection for a while: what it has received must not live as long.
        self._put_off = None
        self._receive.drop()
        self._writer.close()
        self._answers.cancel()
        shared.budget.forget(self)
        held, self._held = self._held, 0
        shared.budget.change(-held)
        shared.on_end(self)

"""A connection between a stand-in for its socket and a dispatcher that does as the request says."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.broker.peer import Peer
from tidelog.broker.reply import Reply
from tidelog.server.bounded_connection import BoundedConnection
from tidelog.server.connection import SENT_LATER_BYTES_MAX, Connection
from tidelog.server.limits import Limits
from tidelog.server.output_queue import OutputQueue
from tidelog.server.shared_state import SharedState


class Loop:
    """Turns when it is told to."""

    def __init__(self) -> None:
        self._soon: list[Callable[[], object]] = []

    def time(self) -> float:
        return 0.0

    def call_soon(self, call: Callable[..., object], *given: object, context: Any = None) -> None:
        self._soon.append(lambda: call(*given))

    def call_later(self, seconds: float, call: Callable[[], object]) -> Any:
        raise AssertionError("nothing is throttled here")

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise AssertionError(context)

    def turn(self) -> None:
        calls, self._soon = self._soon, []
        for call in calls:
            call()


class Wire(OutputQueue):
    """Transport and writer in one: what was sent, and whether more is read."""

    def __init__(self) -> None:
        super().__init__()
        self.out = b""
        self.reading = self.closed = self.waits_for_disk = False
        self.takes = True

    def flush(self) -> None:
        if self.takes:
            buffers, _ = self.gather(1 << 30)
            self.out += b"".join(buffers)
            self.sent(sum(map(len, buffers)))

    def resume_reading(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def has_unread_input(self) -> bool:
        return False

    def end_of_answers(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Dispatcher:
    """`e...` is answered with itself, `l...` later, `n...` never, `c...` with the end of the connection."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.later: list[asyncio.Future[Reply]] = []

    def dispatch(self, frame: memoryview, peer: Peer) -> Any:
        kind = chr(frame[0])
        if kind == "l":
            self.later.append(asyncio.Future(loop=self._loop))  # type: ignore[arg-type]
            return self.later[-1]
        if kind == "n":
            return None
        return Reply([frame.tobytes()], close=kind == "c")


class Room:
    """A loop with a few connections."""

    def __init__(self, **limits: Any) -> None:
        self.loop = Loop()
        self.dispatcher = Dispatcher(self.loop)
        self.ended: list[BoundedConnection] = []
        self.shared = SharedState(
            self.loop,  # type: ignore[arg-type]
            self.dispatcher,
            Limits(**limits),
            self.ended.append,
        )

    def connect(self) -> tuple[Connection, Wire]:
        wire = Wire()
        connection = Connection(self.shared, Peer("127.0.0.1", 1, "PLAINTEXT", 1), 9092)
        connection.start(wire, wire)
        return connection, wire

    def arrive(self, connection: Connection, data: bytes) -> None:
        while data:
            room = connection.get_buffer(-1)
            count = min(len(room), len(data))
            room[:count] = data[:count]
            connection.buffer_updated(count)
            data = data[count:]


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def at_rest(room: Room) -> tuple[Connection, Wire]:
    """A connection that has been served before."""
    connection, wire = room.connect()
    room.arrive(connection, frame(b"e"))
    room.loop.turn()
    assert wire.out == b"e"
    wire.out = b""
    return connection, wire


def test_small_answers_leave_when_everybody_has_been_read() -> None:
    room = Room()
    (one, out), (two, other) = at_rest(room), at_rest(room)
    room.arrive(one, frame(b"e1"))
    room.arrive(two, frame(b"e2"))
    room.arrive(one, frame(b"e3"))
    assert (out.out, other.out) == (b"", b"")
    room.loop.turn()
    assert (out.out, other.out) == (b"e1e3", b"e2")


def test_large_answers_leave_at_once() -> None:
    room = Room()
    connection, wire = at_rest(room)
    large = b"e" * (SENT_LATER_BYTES_MAX + 1)
    room.arrive(connection, frame(large))
    assert wire.out == large


@pytest.mark.parametrize("how", ["together", "one by one", "in pieces"])
def test_answers_keep_the_order_of_requests_when_one_comes_late(how: str) -> None:
    room = Room()
    connection, wire = at_rest(room)
    frames = [frame(body) for body in (b"e1", b"l", b"n", b"e2", b"e3")]
    pieces = {"together": [b"".join(frames)], "one by one": frames, "in pieces": list(b"".join(frames))}[how]
    for piece in pieces:
        room.arrive(connection, piece if isinstance(piece, bytes) else bytes([piece]))
        room.loop.turn()
    assert wire.out == b"e1"
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"e1latee2e3"
    room.arrive(connection, frame(b"e4"))
    room.loop.turn()
    assert wire.out == b"e1latee2e3e4"
    assert room.shared.budget.held == 0


def test_after_the_last_answer_nothing_more_is_taken() -> None:
    room = Room()
    connection, wire = at_rest(room)
    room.arrive(connection, frame(b"c"))
    room.arrive(connection, frame(b"e1"))
    room.loop.turn()
    assert wire.out == b"c"
    assert wire.closed
    assert room.ended == [connection]


def test_a_peer_that_reads_nothing_is_not_read_from_for_ever() -> None:
    room = Room(output_bytes_max=1000)
    connection, wire = at_rest(room)
    wire.takes = False
    for _ in range(100):
        if wire.reading:
            room.arrive(connection, frame(b"e" * 100))
            room.loop.turn()
    assert not wire.reading
    assert wire.pending_bytes <= 1200
    assert room.shared.budget.held == wire.memory_bytes


def test_one_that_no_longer_needs_to_wait_for_memory_leaves_the_line() -> None:
    """It stayed in line once, was granted room for a frame that was long there, and others fell with it."""
    room = Room(held_bytes_max=100_000)
    budget = room.shared.budget
    connection, wire = at_rest(room)
    room.arrive(connection, frame(b"l"))
    budget.change(100_000)  # somebody else takes it all
    body = b"e" * 5000
    room.arrive(connection, frame(body)[:1000])
    assert budget.waiting == 1
    budget.change(-1500)  # too little for what the frame wants, and enough to go on in small steps
    room.dispatcher.later[0].set_result(Reply([b"late"]))
    for _ in range(3):
        room.loop.turn()
    assert wire.reading
    room.arrive(connection, frame(body)[1000:])
    for _ in range(3):
        room.loop.turn()
    assert wire.out == b"late" + body
    assert budget.waiting == 0
    budget.change(-98_500)
    assert budget.held == 0


def test_a_slow_disk_is_not_taken_for_a_peer_that_does_not_read() -> None:
    room = Room(unread_answer_seconds=30)
    connection, wire = at_rest(room)
    wire.takes, wire.waits_for_disk = False, True
    room.arrive(connection, frame(b"e1"))
    room.loop.turn()
    for now in range(0, 200, 10):
        connection.sweep(float(now))
    assert not wire.closed
    wire.waits_for_disk = False
    connection.sweep(200.0)
    connection.sweep(219.0)
    assert not wire.closed
    connection.sweep(231.0)
    assert wire.closed

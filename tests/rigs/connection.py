"""A connection without a socket: bytes come and go when a test says so, requests say how to answer them."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

from tidelog.broker.requests.answer import LateAnswer
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import PendingReply, Reply
from tidelog.server.connection.connection import ServerConnection
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.output_queue import OutputQueue
from tidelog.server.connection.shared_state import SharedState


class Loop:
    """Turns when the test says so."""

    def __init__(self) -> None:
        self._soon: list[Callable[[], object]] = []

    def time(self) -> float:
        return 0.0

    def call_soon(self, call: Callable[..., object], *given: object, context: Any = None) -> None:
        self._soon.append(lambda: call(*given))

    def call_at(self, when: float, call: Callable[[], object]) -> Any:
        raise AssertionError("nothing is throttled here")

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise AssertionError(context)

    def turn(self) -> int:
        """Answers how many calls were due."""
        calls, self._soon = self._soon, []
        for call in calls:
            call()
        return len(calls)


class Wire:
    """Transport and writer in one: what was sent, and whether more is read."""

    def __init__(self, output: OutputQueue) -> None:
        self.output = output
        self.out = b""
        self.reading = self.closed = self.waits_for_disk = self.left = self.has_more = False
        self.takes = True

    def flush(self) -> None:
        if self.takes:
            buffers, _ = self.output.gather(1 << 30)
            self.out += b"".join(buffers)
            self.output.sent(sum(map(len, buffers)))

    def resume_reading(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def has_unread_input(self) -> bool:
        return self.has_more

    def client_has_left(self) -> bool:
        return self.left

    def end_of_answers(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Dispatcher:
    """`e...` is answered with itself, `l...` later, `n...` never, `c...` with the end of the connection.

    `w...` is answered later as well, by a `LateAnswer`. `o...` is like `e...` and `p...` like `l...`, but
    they wait for all before them, and others for them. `q...` is like `l...`, but waits for all but its kind.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.later: list[asyncio.Future[Reply] | LateAnswer[Reply]] = []
        self._under_way: dict[ClientConnection, list[tuple[str, PendingReply]]] = {}

    def dispatch(self, frame: memoryview, client: ClientConnection) -> Any:
        kind = chr(frame[0])
        before = [(each, late) for each, late in self._under_way.get(client, []) if not late.done()]
        if any(each in "op" or kind in "op" or (each == "q") != (kind == "q") for each, _ in before):
            raise AssertionError(f"{kind} began while these were under way: {before}")
        if kind in "lpqw":
            late: asyncio.Future[Reply] | LateAnswer[Reply]
            late = LateAnswer() if kind == "w" else asyncio.Future(loop=self._loop)  # type: ignore[arg-type]
            self.later.append(late)
            self._under_way[client] = [*before, (kind, late)]
            return late
        if kind == "n":
            return None
        return Reply([frame.tobytes()], close=kind == "c")

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def overlap_group(self, frame: memoryview) -> int:
        return {"o": 0, "p": 0, "q": 2}.get(chr(frame[0]), 1)


class Room:
    """A loop with a few connections."""

    def __init__(self, **limits: Any) -> None:
        self.loop = Loop()
        self.dispatcher = Dispatcher(self.loop)
        self.ended: list[ServerConnection] = []
        self.shared = SharedState(
            self.loop,  # type: ignore[arg-type]
            self.dispatcher,
            ConnectionLimits(**limits),
            self.ended.append,
        )

    def connect(self) -> tuple[ServerConnection, Wire]:
        connection = ServerConnection(self.shared, ClientConnection("127.0.0.1", 1, "PLAINTEXT", 1), 9092)
        wire = Wire(connection.output)
        connection.start(wire, wire)
        return connection, wire

    def arrive(self, connection: ServerConnection, data: bytes) -> None:
        while data:
            data = data[self.arrive_once(connection, data) :]

    def arrive_once(self, connection: ServerConnection, data: bytes) -> int:
        """As much as one receive takes."""
        room = connection.get_buffer(-1)
        count = min(len(room), len(data))
        room[:count] = data[:count]
        connection.buffer_updated(count)
        return count


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body

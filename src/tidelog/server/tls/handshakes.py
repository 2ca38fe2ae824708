"""TLS handshakes beside the event loop: the loop waits for bytes, a thread does the arithmetic.

A handshake takes about a millisecond of computing, in which OpenSSL holds no lock of Python. A connection
that sends nothing costs a socket: its TLS session is made when its first bytes arrive. Few sessions are under
way at a time; others wait in line, unread. While there is a line, a client that lets its session wait for
long has to go: a few hundred that never finish must not keep all others out.
"""

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from tidelog.server.tls.explanations import explain_client, is_about_certificate
from tidelog.server.tls.farewells import Farewells

UNDER_WAY_MAX = 256
THREADS = 2
HURRY_SECONDS = 1.0
"""How long a session may wait for its client while others wait in line."""


class HandshakeResult(Protocol):
    def secured(self, sock: ssl.SSLSocket) -> None: ...

    def failed(self, reason: str, *, of_certificate: bool = False) -> None:
        """The socket is closed, or closes by itself. `of_certificate`: the client did not prove its name."""
        ...


class Handshakes:
    def __init__(self, loop: asyncio.AbstractEventLoop, *, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tls-handshake")
        self._open: set[Handshake] = set()
        self._in_line: deque[Handshake] = deque()
        self._under_way: dict[Handshake, None] = {}  # the oldest first
        self._hurry: asyncio.TimerHandle | None = None
        self.farewells = Farewells(loop)

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, sock: socket.socket, context: ssl.SSLContext, result: HandshakeResult) -> None:
        handshake = Handshake(self, sock, context, result)
        self._open.add(handshake)
        handshake.start(self._loop.call_later(self._seconds, handshake.time_out))

    def close(self) -> None:
        for handshake in list(self._open):
            handshake.drop()
        if self._hurry is not None:
            self._hurry.cancel()
        self.farewells.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # What a handshake asks for.

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def may_begin(self, handshake: "Handshake") -> bool:
        """Whether a session may be made now; otherwise the handshake is called when there is room."""
        if len(self._under_way) >= UNDER_WAY_MAX:
            self._in_line.append(handshake)
            self._make_room()
            return False
        self._under_way[handshake] = None
        return True

    def _make_room(self) -> None:
        """End sessions whose clients let them wait, one for each that is in line."""
        if self._hurry is not None or not self._in_line:
            return
        now = self._loop.time()
        self._in_line = deque(each for each in self._in_line if each in self._open)
        slow = sorted(self._under_way, key=lambda each: each.waited(now), reverse=True)
        for handshake in slow[: len(self._in_line)]:
            if handshake.waited(now) < HURRY_SECONDS:
                break
            handshake.hurry()
        if self._in_line:

            def again() -> None:
                self._hurry = None
                self._make_room()

            self._hurry = self._loop.call_later(HURRY_SECONDS / 4, again)

    def run(self, step: Callable[[], str]) -> "asyncio.Future[str]":
        return self._loop.run_in_executor(self._threads, step)

    def ended(self, handshake: "Handshake", *, had_begun: bool) -> None:
        self._open.discard(handshake)
        if had_begun:
            self._under_way.pop(handshake, None)
        while self._in_line and len(self._under_way) < UNDER_WAY_MAX:
            following = self._in_line.popleft()
            if following in self._open:
                self._under_way[following] = None
                following.begin()


class Handshake:
    """One connection on its way to a session."""

    def __init__(
        self, all_of_them: Handshakes, sock: socket.socket, context: ssl.SSLContext, result: HandshakeResult
    ) -> None:
        self._all = all_of_them
        self._loop = all_of_them.loop
        self._socket: socket.socket = sock
        self._session: ssl.SSLSocket | None = None
        self._context = context
        self._result: HandshakeResult | None = result
        self._timer: asyncio.TimerHandle
        self._step: asyncio.Future[str] | None = None
        self._waits_for = ""
        self._waits_since = 0.0
        self._waited = 0.0

    def start(self, timer: asyncio.TimerHandle) -> None:
        self._timer = timer
        self._wait_for("read")

    def begin(self) -> None:
        """There are bytes, and there is room: make the session."""
        if self._session is None:
            try:
                self._session = self._context.wrap_socket(
                    self._socket, server_side=True, do_handshake_on_connect=False
                )
            except (OSError, ValueError) as error:  # the client has left
                self._fail(f"left before the TLS handshake: {error}", had_begun=True)
                return
            self._socket = self._session
        self._step = self._all.run(self._shake)
        self._step.add_done_callback(self._stepped)

    def time_out(self) -> None:
        if self._step is None:
            self._fail("did not finish its TLS handshake in time", had_begun=self._session is not None)
        else:  # a thread has it; what comes of that is too late
            self._result_of_late_step()

    def waited(self, now: float) -> float:
        """For how long, in all, its session has waited for the client; 0 while it does not."""
        return (
            self._waited + now - self._waits_since if self._session is not None and self._waits_for else 0.0
        )

    def hurry(self) -> None:
        self._fail("let its TLS handshake wait while other clients were in line", had_begun=True)

    def drop(self) -> None:
        """The server ends."""
        self._result = None
        if self._step is None:
            self._fail("", had_begun=self._session is not None)

    def _shake(self) -> str:
        """On a thread. What it waits for next; nothing when it is done."""
        assert self._session is not None
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return "read"
        except ssl.SSLWantWriteError:
            return "write"
        return ""

    def _ready(self) -> None:
        self._waited = self.waited(self._loop.time())
        self._stop_waiting()
        if self._session is not None or self._all.may_begin(self):
            self.begin()

    def _stepped(self, step: "asyncio.Future[str]") -> None:
        self._step = None
        if step.cancelled():
            self._fail("", had_begun=True)
            return
        error = step.exception()
        if error is not None:
            self._fail(
                explain_client(error),
                had_begun=True,
                has_alert=isinstance(error, ssl.SSLError),
                of_certificate=is_about_certificate(error),
            )
        elif self._result is None:
            self._fail("", had_begun=True)
        elif waits_for := step.result():
            self._wait_for(waits_for)
        else:
            self._succeed(self._result)

    def _result_of_late_step(self) -> None:
        result, self._result = self._result, None
        if result is not None:
            result.failed("did not finish its TLS handshake in time")

    def _succeed(self, result: HandshakeResult) -> None:
        assert self._session is not None
        self._timer.cancel()
        self._all.ended(self, had_begun=True)
        try:
            result.secured(self._session)
        except BaseException:
            self._session.close()  # a bug must not leave a socket behind that no limit knows of
            raise

    def _fail(
        self, reason: str, *, had_begun: bool, has_alert: bool = False, of_certificate: bool = False
    ) -> None:
        """`has_alert`: an alert is on its way to the client."""
        self._timer.cancel()
        self._stop_waiting()
        with contextlib.suppress(OSError):
            if has_alert and self._result is not None:
                self._all.farewells.begin(self._socket)
            else:
                self._socket.close()
        self._all.ended(self, had_begun=had_begun)
        result, self._result = self._result, None
        if result is not None:
            result.failed(reason, of_certificate=of_certificate)

    def _wait_for(self, what: str) -> None:
        self._waits_for = what
        self._waits_since = self._loop.time()
        add = self._loop.add_reader if what == "read" else self._loop.add_writer
        add(self._socket.fileno(), self._ready)

    def _stop_waiting(self) -> None:
        if self._waits_for:
            remove = self._loop.remove_reader if self._waits_for == "read" else self._loop.remove_writer
            remove(self._socket.fileno())
            self._waits_for = ""

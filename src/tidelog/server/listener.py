"""Listening sockets: addresses in, accepted sockets out.

Accepting must survive hostile clients and shortages: running out of descriptors pauses the listener for a
moment instead of spinning or ending the broker.
"""

import asyncio
import errno
import socket
from collections.abc import Callable

from tidelog.base.errors import TidelogError
from tidelog.base.listener import Listener
from tidelog.server.connection.limits import ConnectionLimits

ACCEPTS_PER_TURN = 64
SHORTAGE_PAUSE_SECONDS = 0.5
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class ListenError(TidelogError):
    """An address cannot be listened on; the message says why and what to try."""

    def __init__(self, message: str, address: Listener | None = None) -> None:
        super().__init__(message)
        self.address = address


Accepted = Callable[[socket.socket, str, int], float]
"""Takes the socket, the client's host and port; returns the seconds for which the listener has to pause."""


class ListeningSocket:
    """Has its port from the beginning, and refuses connections until it is started."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: Listener, limits: ConnectionLimits) -> None:
        self._loop = loop
        self._limits = limits
        self._socket = _bound(address, limits)
        self._is_started = False
        # With the port that the kernel chose, if port 0 was requested.
        self.address = address._replace(port=self._socket.getsockname()[1])
        self._accepted: Accepted | None = None
        self._complain: Callable[[OSError], None] = lambda error: None
        self._pause: asyncio.TimerHandle | None = None

    def start(self, accepted: Accepted, complain: Callable[[OSError], None]) -> None:
        """Pass each new socket to `accepted`, with the client's host and port. A second call does nothing."""
        if self._is_started or self._socket.fileno() < 0:
            return
        try:
            self._socket.listen(self._limits.backlog)
        except OSError as error:
            raise ListenError(_why_not(self.address, error), self.address) from error
        self._is_started = True
        self._accepted = accepted
        self._complain = complain
        self._loop.add_reader(self._socket.fileno(), self._acceptable)

    def close(self) -> None:
        if self._socket.fileno() < 0:
            return
        if self._pause is not None:
            self._pause.cancel()
        if self._is_started:
            self._loop.remove_reader(self._socket.fileno())
        self._socket.close()

    def _acceptable(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno not in _SHORTAGES:
                    continue  # this client left before it was accepted
                self._complain(error)
                self._pause_for(SHORTAGE_PAUSE_SECONDS)
                return
            pause = self._hand_over(sock, address[0], address[1])
            if pause > 0:
                self._pause_for(pause)
                return

    def _pause_for(self, seconds: float) -> None:
        """New clients wait in the kernel's queue meanwhile."""
        self._loop.remove_reader(self._socket.fileno())
        self._pause = self._loop.call_later(seconds, self._resume)

    def _hand_over(self, sock: socket.socket, host: str, port: int) -> float:
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._limits.send_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.send_buffer_bytes)
        except OSError:  # the client has left already
            sock.close()
            return 0.0
        return 0.0 if self._accepted is None else self._accepted(sock, host.removeprefix("::ffff:"), port)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket.fileno(), self._acceptable)


def _bound(address: Listener, limits: ConnectionLimits) -> socket.socket:
    try:
        family, place, dual = _resolve(address)
        sock = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # UnicodeError: for names that no host can have
        raise ListenError(f"cannot listen on {address}: {error}", address) from error
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if dual:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if limits.receive_buffer_bytes > 0:  # accepted sockets inherit it; later is too late for TCP's window
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        sock.bind(place)
    except OSError as error:
        sock.close()
        raise ListenError(_why_not(address, error), address) from error
    return sock


def _resolve(address: Listener) -> tuple[int, tuple[str, int], bool]:
    if address.is_every_interface:
        if address.host != "0.0.0.0" and socket.has_dualstack_ipv6():
            return socket.AF_INET6, ("::", address.port), True
        return socket.AF_INET, ("0.0.0.0", address.port), False
    addresses = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    # `localhost` is often both; clients that try the other one first fall back to this.
    family, _, _, _, place = min(addresses, key=lambda entry: entry[0] != socket.AF_INET)
    return family, (str(place[0]), int(place[1])), False


def _why_not(address: Listener, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"cannot listen on {address}: port {address.port} is in use, perhaps by another broker. "
            f"Find the process with `ss -ltnp 'sport = :{address.port}'`, or choose another port."
        )
    if error.errno == errno.EACCES:
        return f"cannot listen on {address}: ports below 1024 need privileges; choose a higher one."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {address}: this machine has no address {address.host}."
    return f"cannot listen on {address}: {error.strerror}"

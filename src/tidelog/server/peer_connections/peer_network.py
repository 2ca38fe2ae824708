"""Connections to other brokers over TCP: made when first used, made again after they broke.

After a failed attempt the next one waits, longer each time; until then calls fail at once, so that callers
neither hang on a broker that is down nor flood one that is starting.
"""

import asyncio
import logging
import socket
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.base.ports import Buffer, Connection, Network, Random
from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.receive_buffer import CHUNK_BYTES
from tidelog.server.peer_connections.peer_wire import PeerWire
from tidelog.server.peer_connections.refusal import PeerRefused

if TYPE_CHECKING:  # a broker without TLS and SASL does not import them
    from tidelog.server.peer_connections.sasl_login import SaslLogin
    from tidelog.server.peer_connections.tls import PeerTls

BACK_OFF_SECONDS = 0.05
BACK_OFF_SECONDS_MAX = 1.0
KEPT_BYTES_MAX = 32 * 1024 * 1024
REPEATED_SECONDS = 60.0
"""How long a refusal is not logged again while its cause is the same."""
RENEWAL_SECONDS = 30.0
"""For a login on an open connection: its response comes behind those of earlier requests."""
REFUSALS_MAX = 10
"""Different ones of one broker, until it is reached again."""
PROVEN_SECONDS = 1.0
"""A secured connection that breaks sooner, without any response, counts as an attempt that failed."""

log = logging.getLogger("tidelog.server.peers")


class PeerNetwork:
    """Fills the `Network` port; use it on the loop it was made on."""

    def __init__(
        self,
        random: Random,
        *,
        answer_bytes_max: int = 128 * 1024 * 1024,
        connect_seconds: float = 5.0,
        silence_seconds: float = 10.0,
    ) -> None:
        self.random = random
        self.answer_bytes_max = answer_bytes_max
        self.connect_seconds = connect_seconds
        self.silence_seconds = silence_seconds
        """How long sent bytes may stay unacknowledged before the connection counts as broken."""
        self.tls: PeerTls | None = None
        self.login: SaslLogin | None = None
        self._said: dict[str, dict[str, float]] = {}  # by address, until when each refusal is not repeated
        self.chunk = bytearray(CHUNK_BYTES)
        self.pool = BufferPool(KEPT_BYTES_MAX)
        self._connections: dict[PeerConnection, None] = {}
        self._attempts: dict[asyncio.Task[None], None] = {}

    def connect(self, host: str, port: int) -> "PeerConnection":
        connection = PeerConnection(self, host, port)
        self._connections[connection] = None
        return connection

    def forget(self, connection: "PeerConnection") -> None:
        self._connections.pop(connection, None)

    def attempt(self, wire: PeerWire, host: str, port: int) -> "asyncio.Task[None]":
        return self._own(self._attempt(wire, host, port), f"connect {host}:{port}")

    @property
    def is_secured(self) -> bool:
        return self.tls is not None or self.login is not None

    def _own(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._attempts[task] = None
        task.add_done_callback(lambda done: self._attempts.pop(done, None))
        return task

    async def _attempt(self, wire: PeerWire, host: str, port: int) -> None:
        try:
            async with asyncio.timeout(self.connect_seconds):
                transport = await self._connected(wire, host, port)
                if self.login is not None:
                    self._renew_later(wire, await self.login.run(wire))
        except PeerRefused as refusal:
            wire.fail(refusal)
        except TimeoutError:
            wire.fail(
                ConnectionError(
                    f"{host}:{port} did not accept a connection within {self.connect_seconds:g} s"
                )
            )
        except (OSError, ValueError, OverflowError) as error:  # also for a malformed address
            wire.fail(ConnectionError(f"{host}:{port} cannot be reached: {error}"))
        else:
            _give_up_after(transport.get_extra_info("socket"), self.silence_seconds)
            wire.open()

    async def _connected(self, wire: PeerWire, host: str, port: int) -> asyncio.BaseTransport:
        tls = self.tls
        options: dict[str, Any] = {}
        if tls is not None:
            options = {"ssl": tls.context, "server_hostname": host}
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: wire, host, port, **options)
        except OSError as error:
            if tls is not None and tls.is_refusal(error):
                raise tls.refused(wire.name, error) from error
            raise
        return transport

    def _renew_later(self, wire: PeerWire, seconds: float) -> None:
        """The session ends after so many seconds; 0: never."""
        if seconds > 0 and wire.end is None:
            # As Kafka's clients do: early enough, and not all at the same moment.
            share = 0.85 + self.random.below(1_000) / 10_000
            renew = partial(self._renew, wire)
            wire.timer = asyncio.get_running_loop().call_later(
                seconds * share, lambda: self._own(renew(), f"log in again {wire.name}")
            )

    async def _renew(self, wire: PeerWire) -> None:
        if self.login is None or wire.end is not None:
            return
        wire.hold()
        try:
            async with asyncio.timeout(RENEWAL_SECONDS):
                self._renew_later(wire, await self.login.run(wire))
        except TimeoutError:
            wire.fail(ConnectionError(f"{wire.name} did not renew the session within {RENEWAL_SECONDS:g} s"))
        except OSError as error:
            wire.fail(error)
        else:
            wire.open()

    def complain(self, name: str, refusal: str) -> None:
        """Log why a broker is not reached, and not again with every attempt."""
        now = asyncio.get_running_loop().time()
        said = self._said.setdefault(name, {})
        if now >= said.get(refusal, 0.0) and (refusal in said or len(said) < REFUSALS_MAX):
            said[refusal] = now + REPEATED_SECONDS
            log.warning("%s. The next attempt follows within %g s", refusal, BACK_OFF_SECONDS_MAX)

    def reached(self, name: str) -> None:
        """Log the next refusal at once, even one that was logged a moment ago."""
        self._said.pop(name, None)

    def tick(self) -> None:
        """Called now and then: release buffers that no response has used lately."""
        self.pool.tick()

    async def close(self) -> None:
        for connection in tuple(self._connections):
            connection.close()
        if self._attempts:
            await asyncio.gather(*self._attempts, return_exceptions=True)


class PeerConnection:
    """Fills the `Connection` port."""

    def __init__(self, network: PeerNetwork, host: str, port: int) -> None:
        self._network = network
        self._host, self._port = host, port
        self._wire: PeerWire | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._made_at = 0.0
        self._closed = False

    def call(self, frame: Sequence[Buffer]) -> "asyncio.Future[memoryview]":
        wire = self._usable()
        if wire is not None:
            return wire.call(frame)
        answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        what = "the connection is closed" if self._closed else "it could not be reached a moment ago"
        answer.set_exception(ConnectionError(f"{self._host}:{self._port}: {what}"))
        return answer

    def send(self, frame: Sequence[Buffer]) -> None:
        wire = self._usable()
        if wire is not None:
            wire.send(frame)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._network.forget(self)
        if self._wire is not None:
            self._wire.fail(ConnectionError(f"the connection to {self._host}:{self._port} was closed"))
        if self._attempt is not None:
            self._attempt.cancel()

    def _usable(self) -> PeerWire | None:
        if self._wire is not None or self._closed:
            return self._wire
        if asyncio.get_running_loop().time() < self._retry_at:
            return None
        network = self._network
        wire = self._wire = PeerWire(
            f"{self._host}:{self._port}",
            network.chunk,
            network.answer_bytes_max,
            network.pool,
            self._ended,
            why_lost=None if network.tls is None else network.tls.why_lost,
        )
        self._attempt = network.attempt(wire, self._host, self._port)
        self._attempt.add_done_callback(self._attempted)
        return wire

    def _attempted(self, _: "asyncio.Task[None]") -> None:
        self._attempt = None
        self._made_at = asyncio.get_running_loop().time()
        if not self._network.is_secured and self._wire is not None:
            self._failures = 0

    def _ended(self) -> None:
        """The connection broke, or was never made. One that broke may be made again at once."""
        wire, self._wire = self._wire, None
        if self._closed or wire is None:
            return
        log.debug("%s", wire.end)
        now = asyncio.get_running_loop().time()
        if isinstance(wire.end, PeerRefused):
            self._network.complain(wire.name, str(wire.end))
        elif self._is_proven(wire, now):
            self._failures = 0
            self._network.reached(wire.name)
            return
        delay = min(BACK_OFF_SECONDS_MAX, BACK_OFF_SECONDS * 2 ** min(self._failures, 10))
        self._failures += 1
        spread = 0.75 + self._network.random.below(1_000) / 2_000
        self._retry_at = now + delay * spread

    def _is_proven(self, wire: PeerWire, now: float) -> bool:
        """Whether the connection was of use. In TLS 1.3 the other side judges our certificate after our own
        side of the handshake has succeeded."""
        if self._attempt is not None:
            return False
        is_proven = wire.has_answered or now - self._made_at >= PROVEN_SECONDS
        return is_proven or not self._network.is_secured


def _give_up_after(sock: socket.socket | None, seconds: float) -> None:
    """A peer behind an unplugged cable never closes the connection: the kernel must notice."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if sock is not None and option is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
        sock.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))


def _check(network: PeerNetwork) -> tuple[Network, Connection]:
    return network, network.connect("", 0)  # mypy proves here that they fill the ports

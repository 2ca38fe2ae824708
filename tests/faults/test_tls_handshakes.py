"""TLS handshakes by the thousand do not stop the loop, and end in time; certificates name principals."""

import asyncio
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests.faults.echo_server import DEADLINE, Running, certificates, frame, receive_frame, wait_for
from tidelog.base.listener import Listener
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.security.tls.authority import Authority
from tidelog.security.tls.contexts import ClientAuth, client_context
from tidelog.security.tls.material import StoreSettings
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.server import Server
from tidelog.server.tls.handshakes import UNDER_WAY_MAX
from tidelog.server.tls.tls_listener import TlsListener

SLOW_CLIENTS = 1_000
PATIENCE_S = 1.2  # less than one handshake that never ends takes, and enough for a busy machine
"""A loop that a flood had stopped would let an echo wait for all of it."""


@pytest.fixture
def start_tls() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(loop: str, **limits: float) -> Running:
        running.append(Running(f"{loop} tls", ConnectionLimits(**limits)))  # type: ignore[arg-type]
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def client_hello() -> bytes:
    """The first flight of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context(certificates().client).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def echo_seconds(sock: socket.socket) -> float:
    begun = time.monotonic()
    sock.sendall(frame(b"e"))
    assert receive_frame(sock) == b"e"
    return time.monotonic() - begun


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_thousand_clients_that_never_finish_are_closed_in_time(
    start_tls: Callable[..., Running], loop: str
) -> None:
    running = start_tls(loop, handshake_seconds=1.5)
    hello = client_hello()
    with contextlib.ExitStack() as sockets, running.connect() as bystander:
        begun = time.monotonic()
        slowest = 0.0
        crowd = []
        for number in range(SLOW_CLIENTS):
            crowd.append(sockets.enter_context(running.connect(plain=True)))
            # Some say nothing, some a part of the hello, some the whole of it and then nothing more.
            crowd[-1].sendall((b"", hello[:40], hello)[number % 3])
            if number % 50 == 0:
                slowest = max(slowest, echo_seconds(bystander))
        while running.server.counters.handshakes_failed < SLOW_CLIENTS:
            slowest = max(slowest, echo_seconds(bystander))
            assert time.monotonic() - begun < DEADLINE, "they are still there"
            time.sleep(0.01)
        assert slowest < PATIENCE_S
    assert running.server.connection_count <= 1


def test_clients_that_stop_half_way_do_not_keep_others_out(start_tls: Callable[..., Running]) -> None:
    running = start_tls("uvloop", handshake_seconds=60)
    hello = client_hello()
    with contextlib.ExitStack() as sockets:
        for _ in range(2 * UNDER_WAY_MAX):
            sockets.enter_context(running.connect(plain=True)).sendall(hello[:40])
        with running.connect() as sock:
            assert echo_seconds(sock) < DEADLINE
        assert running.server.counters.handshakes_failed >= UNDER_WAY_MAX


def test_many_whole_handshakes_at_once_leave_time_for_others(start_tls: Callable[..., Running]) -> None:
    running = start_tls("uvloop")

    def come_and_go(_: int) -> None:
        with running.connect() as sock:
            echo_seconds(sock)

    slowest = 0.0
    with running.connect() as bystander, ThreadPoolExecutor(8) as clients:
        coming = [clients.submit(come_and_go, number) for number in range(300)]
        while not all(done.done() for done in coming):
            slowest = max(slowest, echo_seconds(bystander))
            time.sleep(0.005)
        for done in coming:
            done.result()
    assert slowest < PATIENCE_S
    assert running.server.counters.handshakes_failed == 0


class NamePrincipal:
    def __init__(self) -> None:
        self.refused: asyncio.Queue[str] = asyncio.Queue()

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        self.refused.put_nowait(f"{connection.host} {reason}")

    def dispatch(self, request: memoryview, connection: ClientConnection) -> Reply:
        said = connection.principal.encode()
        return Reply([struct.pack(">i", len(said)), said])

    def overlap_group(self, request: memoryview) -> int:
        return 1


NOW = datetime.now(UTC)
RULES = r"RULE:^CN=([a-z]+),O=Example$/$1@example/U,RULE:^CN=(bob)$/$1/,RULE:^CN=nobody1(.*),O=Example$/$1/"


def principal(
    client_auth: ClientAuth,
    common_name: str | None,
    *,
    is_sasl: bool = False,
    authority: Authority | None = None,
) -> str:
    """The principal of a client with that certificate; the error where it is not let in."""
    tls = certificates().server._replace(client_auth=client_auth)
    keys = StoreSettings("ssl.keystore")
    if common_name is not None:
        organization = None if common_name == "bob" else "Example"
        key, chain = (authority or certificates().authority).issue(
            common_name, NOW, organization=organization
        )
        keys = keys._replace(key=key.decode(), certificates=chain.decode())
    context = client_context(certificates().client._replace(key_store=keys))

    async def ask() -> str:
        listener = TlsListener(tls, RULES, names_principals=not is_sasl)
        dispatcher = NamePrincipal()
        server = Server(dispatcher, tls={"SSL": listener})
        server.start([Listener("SSL", "127.0.0.1", 0)])
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.addresses[0].port, ssl=context)
            writer.write(frame(b"who am I?"))
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            said = (await reader.readexactly(size)).decode()
            writer.close()
            return said
        except (asyncio.IncompleteReadError, OSError) as error:
            return f"refused: {error}, {await dispatcher.refused.get()}"
        finally:
            server.close()

    return asyncio.run(asyncio.wait_for(ask(), DEADLINE))


@pytest.mark.parametrize(
    ("client_auth", "common_name", "expected"),
    [
        (ClientAuth.NONE, "alice", "User:ANONYMOUS"),
        (ClientAuth.REQUESTED, "alice", "User:ALICE@EXAMPLE"),
        (ClientAuth.REQUESTED, None, "User:ANONYMOUS"),
        (ClientAuth.REQUIRED, "alice", "User:ALICE@EXAMPLE"),
        (ClientAuth.REQUIRED, "bob", "User:bob"),
        (ClientAuth.REQUIRED, None, "refused"),
        (ClientAuth.REQUIRED, "Alice", "refused"),  # no rule takes this name
        (ClientAuth.REQUIRED, "nobody1", "refused"),  # a rule makes an empty name of it
    ],
)
def test_certificates_name_principals(
    client_auth: ClientAuth, common_name: str | None, expected: str
) -> None:
    assert principal(client_auth, common_name).startswith(expected)


def test_a_certificate_of_another_authority_is_refused_and_reported() -> None:
    stranger = Authority.new("Another CA", NOW)
    assert "ssl.truststore does not vouch for" in principal(ClientAuth.REQUIRED, "alice", authority=stranger)


def test_on_sasl_listeners_a_certificate_names_no_principal_but_is_still_demanded() -> None:
    assert principal(ClientAuth.REQUIRED, "Alice", is_sasl=True) == "User:ANONYMOUS"
    assert principal(ClientAuth.REQUIRED, None, is_sasl=True).startswith("refused")


def test_a_flood_of_refused_clients_does_not_leave_sockets_behind(start_tls: Callable[..., Running]) -> None:
    running = start_tls("uvloop")
    for _ in range(300):
        with running.connect(plain=True) as sock:
            sock.sendall(b"\0\0\0\x08 no tls!")
    wait_for(lambda: running.server.counters.handshakes_failed == 300)
    wait_for(lambda: len(running.server._admission) == 0)

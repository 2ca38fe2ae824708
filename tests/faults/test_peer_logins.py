"""SASL on connections to other brokers: requests wait for login and renewal; failures are said."""

import asyncio
import logging
import struct
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.security.sasl.conversation import AuthenticationFailed, Conversation
from tidelog.security.sasl.plain_server import PlainServer
from tidelog.security.sasl.scram_credential import ScramMechanism, new_credential
from tidelog.security.sasl.scram_server import ScramServer, of_user
from tidelog.server.clock import SystemRandom
from tidelog.server.peer_connections.peer_network import PeerConnection, PeerNetwork
from tidelog.server.peer_connections.sasl_login import SaslLogin
from tidelog.wire.apis import ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import read_request_header, write_request, write_response
from tidelog.wire.messages.metadata import MetadataRequest
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

REQUEST = write_request(ApiKey.METADATA, 12, 7, "test", MetadataRequest())
SCRAM = ScramMechanism.SHA_256
CREDENTIAL = new_credential(SCRAM, "secret", b"0123456789abcdef", 4096)


class SaslPeer:
    """Answers with the frame itself once a connection is authenticated, and hangs up on anything before."""

    def __init__(self, mechanisms: tuple[str, ...], lifetime_ms: int) -> None:
        self.mechanisms = mechanisms
        self.lifetime_ms = lifetime_ms
        self.logins = self.connections = self.refusals = self.too_early = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        conversation: Conversation | None = None
        is_authenticated = False
        while True:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = memoryview(await reader.readexactly(size))
            header, start = read_request_header(frame)
            answer: SaslHandshakeResponse | SaslAuthenticateResponse
            if header.api_key == ApiKey.SASL_HANDSHAKE:
                wanted = decode(SaslHandshakeRequest, header.api_version, frame, start).mechanism
                is_authenticated = False
                conversation = self._conversation(wanted)
                code = ErrorCode.NONE if wanted in self.mechanisms else ErrorCode.UNSUPPORTED_SASL_MECHANISM
                answer = SaslHandshakeResponse(error_code=code, mechanisms=list(self.mechanisms))
            elif header.api_key == ApiKey.SASL_AUTHENTICATE and conversation is not None:
                message = decode(SaslAuthenticateRequest, header.api_version, frame, start).auth_bytes
                try:
                    said = conversation.respond(message)
                    answer = SaslAuthenticateResponse(auth_bytes=said, session_lifetime_ms=self.lifetime_ms)
                    if conversation.result is not None:
                        is_authenticated = True
                        self.logins += 1
                except AuthenticationFailed:
                    self.refusals += 1
                    code = ErrorCode.SASL_AUTHENTICATION_FAILED
                    answer = SaslAuthenticateResponse(error_code=code, error_message="Authentication failed")
            elif is_authenticated:
                writer.write(struct.pack(">i", size) + frame)
                continue
            else:
                self.too_early += 1
                return
            for part in write_response(header.api_key, header.api_version, header.correlation_id, answer):
                writer.write(part)  # type: ignore[arg-type]

    def _conversation(self, mechanism: str) -> Conversation:
        if mechanism == "PLAIN":
            return PlainServer(lambda user, password: (user, password) == ("broker", "secret"))
        known = of_user("broker", CREDENTIAL)
        return ScramServer(
            SCRAM,
            lambda user, _: known if user == "broker" else None,
            nonce="n",
            unknown=lambda _: known.credential,
        )


@asynccontextmanager
async def connected(
    mechanism: str,
    *,
    password: str = "secret",
    offered: tuple[str, ...] = ("PLAIN", "SCRAM-SHA-256"),
    lifetime_ms: int = 0,
) -> AsyncIterator[tuple[PeerConnection, SaslPeer]]:
    peer = SaslPeer(offered, lifetime_ms)
    serving: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await peer.serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    network = PeerNetwork(SystemRandom())
    network.login = SaslLogin(mechanism, "broker", password, client_id="broker-1", random=SystemRandom())
    try:
        yield network.connect("127.0.0.1", server.sockets[0].getsockname()[1]), peer
    finally:
        await network.close()
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def in_time(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, 20)

    asyncio.run(bounded())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_requests_wait_for_the_login(mechanism: str) -> None:
    async def check() -> None:
        async with connected(mechanism) as (connection, peer):
            answers = await asyncio.gather(*(connection.call(REQUEST) for _ in range(5)))
            assert [bytes(answer) for answer in answers] == [b"".join(REQUEST)[4:]] * 5
            assert (peer.connections, peer.logins, peer.too_early) == (1, 1, 0)

    in_time(check())


def test_a_request_without_a_response_waits_too() -> None:
    async def check() -> None:
        async with connected("SCRAM-SHA-256") as (connection, peer):
            connection.send(REQUEST)
            await connection.call(REQUEST)
            assert (peer.logins, peer.too_early) == (1, 0)

    in_time(check())


def test_the_login_is_renewed_before_the_session_ends_while_requests_go_on() -> None:
    async def check() -> None:
        async with connected("SCRAM-SHA-256", lifetime_ms=300) as (connection, peer):
            asked = 0
            while peer.logins < 4:
                await connection.call(REQUEST)
                asked += 1
                await asyncio.sleep(0.005)
            assert (peer.connections, peer.too_early) == (1, 0)
            assert asked > 50

    in_time(check())


def test_a_wrong_password_is_logged_once_and_tried_again_slowly(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with connected("SCRAM-SHA-256", password="wrong") as (connection, peer):
            end = asyncio.get_running_loop().time() + 1.5
            while asyncio.get_running_loop().time() < end:
                with pytest.raises(ConnectionError):
                    await connection.call(REQUEST)
                await asyncio.sleep(0.01)
            assert 2 <= peer.refusals <= 10
            assert peer.too_early == 0

    in_time(check())
    [line] = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert "it refused the user 'broker' by SASL SCRAM-SHA-256 (Authentication failed)" in line
    assert "compare sasl.jaas.config of both brokers" in line
    assert "wrong" not in caplog.text


def test_a_mechanism_that_is_not_offered_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with connected("SCRAM-SHA-512") as (connection, _):
            with pytest.raises(ConnectionError, match="does not offer SASL SCRAM-SHA-512, only PLAIN, SCRAM"):
                await connection.call(REQUEST)

    in_time(check())
    assert "add it to its sasl.enabled.mechanisms" in caplog.text


def test_a_renewal_that_fails_ends_the_connection_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with connected("PLAIN", lifetime_ms=200) as (connection, peer):
            await connection.call(REQUEST)
            peer.mechanisms = ("SCRAM-SHA-256",)

            async def ask_on() -> None:
                while True:
                    await connection.call(REQUEST)
                    await asyncio.sleep(0.01)

            with pytest.raises(ConnectionError):
                await ask_on()
            assert peer.too_early == 0

    in_time(check())
    assert "it does not offer SASL PLAIN, only SCRAM-SHA-256" in caplog.text

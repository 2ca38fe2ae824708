"""A gate on a connection, with users and clocks that a test controls; run it on a loop with virtual time."""

import asyncio
import base64
from collections.abc import Callable, Generator
from itertools import count

from tidelog.blocking.sasl import scram
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.gate import Gate, Refusal, gates
from tidelog.broker.security.authentication import Step
from tidelog.broker.security.sasl_listener import Mechanism, SaslListener
from tidelog.broker.security.users import Users
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.jwt import Token, TokenRefused
from tidelog.security.sasl.oauthbearer_server import OauthBearerServer
from tidelog.security.sasl.plain_server import PlainServer
from tidelog.security.sasl.scram_credential import ScramMechanism, new_credential
from tidelog.security.sasl.scram_server import ScramServer
from tidelog.server.disk_threads import DiskThreadsBusy

SHA_256 = ScramMechanism.SHA_256
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}
SECURITY = SecurityImage(
    credentials={
        (user, SHA_256): new_credential(SHA_256, password, b"0123456789abcdef")
        for user, password in PASSWORDS.items()
    }
)


class LoopClock:
    """The clock of the running loop, which moves only when nothing else is left to do."""

    def now_ms(self) -> int:
        return int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def verify(token: str) -> Token:
    """The identity provider of these tests: `<user> <its end in seconds>`."""
    user, _, expires = token.partition("@")
    if not expires.isdigit():
        raise TokenRefused("not a token")
    return Token(user, frozenset(), int(expires) * 1000)


class SaslRig:
    def __init__(
        self,
        *,
        security: Callable[[], SecurityImage] = lambda: SECURITY,
        reauth_ms: int = 0,
        users: Users | None = None,
        is_busy: bool = False,
    ) -> None:
        self.users = users or Users(security, secret=lambda: b"of this cluster")
        self.slow_steps = 0
        nonces = count()

        async def run_slow(job: Callable[[], bytes]) -> bytes:
            self.slow_steps += 1
            if is_busy:
                raise DiskThreadsBusy("1002 jobs are waiting")
            await asyncio.sleep(0.002)
            return job()

        def begin_scram() -> ScramServer:
            return ScramServer(
                SHA_256,
                lambda name, is_token: self.users.find(SHA_256, name, is_token),
                nonce=f"nonce{next(nonces)}",
                unknown=lambda name: self.users.unknown.credential(SHA_256, name),
            )

        self.listener = SaslListener(
            {
                "PLAIN": Mechanism(
                    lambda: PlainServer(self.users.is_password, self.users.is_configured), run_slow, reauth_ms
                ),
                "SCRAM-SHA-256": Mechanism(begin_scram, run_slow, reauth_ms),
                "OAUTHBEARER": Mechanism(lambda: OauthBearerServer(verify), run_slow, reauth_ms),
            },
            frame_bytes_max=512,
            seconds=30.0,
            delay_seconds=0.1,
        )
        self.failures: list[str] = []

    def connect(self) -> ClientConnection:
        connection = ClientConnection("192.0.2.1", 5555, "SASL_PLAINTEXT")
        gates({"SASL_PLAINTEXT": self.listener}, LoopClock())(connection)
        gate_of(connection).on_failure = self.failures.append
        return connection


def gate_of(connection: ClientConnection) -> Gate:
    assert connection.gate is not None
    return connection.gate


async def log_in(
    connection: ClientConnection,
    mechanism: str = "SCRAM-SHA-256",
    user: str = "alice",
    password: str | None = None,
) -> Step | Refusal:
    """Returns the last step, or the refusal."""
    gate = gate_of(connection)
    assert not gate.handshake(connection, mechanism, raw=False)
    exchange = client_of(mechanism, user, PASSWORDS[user] if password is None else password)
    message: bytes | None = next(exchange)
    step: Step | Refusal | None = None
    while message is not None:
        step = await gate.authenticate(connection, message)
        if isinstance(step, Refusal):
            return step
        try:
            message = exchange.send(step.token)
        except StopIteration:
            message = None
    assert step is not None
    return step


def client_of(mechanism: str, user: str, password: str) -> Generator[bytes, bytes, None]:
    if mechanism == "PLAIN":
        return _one(f"\0{user}\0{password}".encode())
    if mechanism == "OAUTHBEARER":
        return _one(f"n,,\x01auth=Bearer {password}\x01\x01".encode())
    return scram(mechanism, user, password, base64.b64encode(b"of the client").decode())


def _one(message: bytes) -> Generator[bytes, bytes, None]:
    yield message

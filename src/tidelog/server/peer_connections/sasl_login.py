"""SASL on connections to other brokers: this broker logs in as the user of its `sasl.jaas.config`.

Requests wait until the login has succeeded. Before a session ends, the login is repeated on the same
connection (KIP-368), and requests wait again for a moment.
"""

import asyncio
import base64
from typing import Any

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.base.listener_settings import name_for
from tidelog.base.ports import Buffer, FileSlice, Random
from tidelog.security.sasl.client import Exchange, SaslRefused, plain, scram
from tidelog.security.sasl.jaas import JaasError, LoginModuleKind, parse_jaas
from tidelog.server.peer_connections.peer_wire import PeerWire
from tidelog.server.peer_connections.refusal import PeerRefused
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

NONCE_BYTES = 24
_MECHANISM = "sasl.mechanism.inter.broker.protocol"


class SaslLogin:
    def __init__(
        self, mechanism: str, username: str, password: str, *, client_id: str, random: Random
    ) -> None:
        self._mechanism = mechanism
        self._username = username
        self._password = password
        self._client_id = client_id
        self._random = random

    @classmethod
    def of(cls, config: BrokerConfig, random: Random) -> "SaslLogin":
        """Raises ConfigError."""
        mechanism, listener = (
            config.text("sasl.mechanism.inter.broker.protocol"),
            config.inter_broker_listener(),
        )
        setting = name_for("sasl.jaas.config", listener, mechanism)
        if mechanism == "OAUTHBEARER":
            raise _wrong(
                _MECHANISM, "brokers do not fetch tokens; choose SCRAM-SHA-256, SCRAM-SHA-512 or PLAIN"
            )
        text = config.for_listener(listener, mechanism).optional_text("sasl.jaas.config")
        if text is None:
            raise _wrong(
                setting, f"the user as which this broker logs in at others by {mechanism} is not set; add it"
            )
        try:
            module = parse_jaas(text)
        except JaasError as error:
            raise _wrong(setting, str(error)) from error
        if module.kind is not LoginModuleKind.of_mechanism(mechanism):
            raise _wrong(setting, f"the login module does not fit {mechanism}")
        if not module.username or not module.password:
            raise _wrong(setting, "username and password of this broker are missing")
        client_id = f"broker-{config.int('node.id')}"
        return cls(mechanism, module.username, module.password, client_id=client_id, random=random)

    async def run(self, wire: PeerWire) -> float:
        """Log in. Returns the seconds after which it must be repeated; 0: never. Raises PeerRefused."""
        handshake: SaslHandshakeResponse = await self._call(
            wire, ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism=self._mechanism)
        )
        if handshake.error_code:
            offered = ", ".join(handshake.mechanisms) or "none"
            raise self._refused(
                wire,
                f"it does not offer SASL {self._mechanism}, only {offered}: add it to its "
                f"sasl.enabled.mechanisms, or change {_MECHANISM}",
            )
        steps, reply = self._exchange(), None
        lifetime_ms = 0
        while True:
            try:
                # The proof of SCRAM takes milliseconds, in which the loop has better things to do.
                message = next(steps) if reply is None else await asyncio.to_thread(_step, steps, reply)
            except SaslRefused as error:
                raise self._refused(wire, str(error)) from error
            if message is None:
                return lifetime_ms / 1000
            answer: SaslAuthenticateResponse = await self._call(
                wire, ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=message)
            )
            if answer.error_code:
                reason = answer.error_message or ErrorCode.of(answer.error_code).text
                raise self._refused(
                    wire,
                    f"it refused the user {self._username!r} by SASL {self._mechanism} ({reason}): compare "
                    "sasl.jaas.config of both brokers",
                )
            lifetime_ms, reply = answer.session_lifetime_ms, answer.auth_bytes

    def _exchange(self) -> Exchange:
        if self._mechanism == "PLAIN":
            return plain(self._username, self._password)
        nonce = base64.b64encode(self._random.bytes(NONCE_BYTES)).decode()
        return scram(self._mechanism, self._username, self._password, nonce)

    async def _call(self, wire: PeerWire, api_key: int, version: int, request: Message) -> Any:
        parts = write_request(api_key, version, 0, self._client_id, request)
        frame: list[Buffer] = [part for part in parts if not isinstance(part, FileSlice)]
        data = await wire.call_first(frame)
        try:
            _, answer = read_response(api_key, version, data)
        except ProtocolError as error:
            raise self._refused(wire, f"its response cannot be read: {error}") from error
        return answer

    def _refused(self, wire: PeerWire, reason: str) -> PeerRefused:
        return PeerRefused(f"No secure connection to the broker at {wire.name}: {reason}")


def _step(steps: Exchange, reply: bytes) -> bytes | None:
    """The next message; None at the end. A thread cannot raise StopIteration into a future."""
    try:
        return steps.send(reply)
    except StopIteration:
        return None


def _wrong(name: str, reason: str) -> ConfigError:
    return ConfigError([Problem(name, reason)])

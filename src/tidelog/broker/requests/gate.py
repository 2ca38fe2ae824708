"""The gate of a connection on a listener with SASL: closed until the client is authenticated.

While it is closed, it is the connection's `fast_path`, and so sees every frame first: it lets ApiVersions,
SaslHandshake and SaslAuthenticate through to their handlers, takes bare SASL tokens itself, and refuses the
rest. Once a session has ended (KIP-368) it closes again, and takes the place of the produce shortcut.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.base.ports import Clock
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.broker.security.authentication import Authentication, NotChecked, Step
from tidelog.broker.security.sasl_listener import SaslListener
from tidelog.security.audit.event import Actor
from tidelog.security.sasl.conversation import AuthenticationFailed
from tidelog.wire.apis import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.security.audit.audit import Audit

SIZE_BYTES = 4
SASL_APIS = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
BEFORE_AUTHENTICATION = SASL_APIS | {ApiKey.API_VERSIONS}

_BEFORE = frozenset(int(key) for key in BEFORE_AUTHENTICATION)
_AGAIN = frozenset(int(key) for key in SASL_APIS)


def gates(
    listeners: Mapping[str, SaslListener],
    clock: Clock,
    audit: "Callable[[], Audit | None]" = lambda: None,
    failures: Counter[tuple[str, str]] | None = None,
) -> Callable[[ClientConnection], None]:
    """Returns what puts a gate on a new connection if its listener is one of these.

    `failures` are counted by listener and mechanism.
    """
    counted: Counter[tuple[str, str]] = Counter() if failures is None else failures

    def put_gate(connection: ClientConnection) -> None:
        listener = listeners.get(connection.listener)
        if listener is not None:
            Gate(connection, listener, Authentication(listener, clock), audit, counted)

    return put_gate


class Refusal(NamedTuple):
    """Ends an exchange. The connection is closed once the client has this."""

    code: ErrorCode
    message: str
    is_silent: bool = False
    """There is no response: clients give up after an error, and try again after a closed connection."""


class Gate:
    __slots__ = (
        "_audit",
        "_authentication",
        "_failures",
        "_is_busy",
        "_listener",
        "_loop",
        "_since",
        "_timer",
        "is_ended",
        "is_open",
        "on_change",
        "on_failure",
    )

    def __init__(
        self,
        connection: ClientConnection,
        listener: SaslListener,
        authentication: Authentication,
        audit: "Callable[[], Audit | None]",
        failures: Counter[tuple[str, str]],
    ) -> None:
        self._listener = listener
        self._authentication = authentication
        self._audit = audit
        self._failures = failures
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._is_busy = False
        self.is_ended = False
        """Nothing may follow: the client was refused, or its connection is closed."""
        self.is_open = False
        self.on_change: Callable[[], None] = _nothing
        """Called when the gate has opened or closed: other limits apply then."""
        self.on_failure: Callable[[str], None] = _no_words
        """Called with why a client was refused, for the log."""
        # The connection holds the gate and not the other way round: a cycle outlives its use, and stays once
        # the collector has frozen it (`server/garbage.py`).
        connection.gate = self
        connection.fast_path = self.take

    @property
    def mechanisms(self) -> list[str]:
        return list(self._listener.mechanisms)

    @property
    def is_token(self) -> bool:
        """Whether the client authenticated by a delegation token."""
        result = self._authentication.result
        return result is not None and result.is_token

    def frame_bytes_max(self, otherwise: int) -> int:
        return otherwise if self.is_open else min(self._listener.frame_bytes_max, otherwise)

    def is_overdue(self, now: float) -> bool:
        """Whether the client has had its time. A session that has ended is limited as idle ones are."""
        return self._authentication.result is None and now - self._since >= self._listener.seconds

    def end(self) -> None:
        """The connection is closed."""
        self.is_ended = True
        self.on_change, self.on_failure = _nothing, _no_words
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def take(self, frame: memoryview, connection: ClientConnection) -> "asyncio.Task[Reply] | None":
        """The connection's fast path while the gate is closed."""
        if self._is_busy or self.is_ended:
            raise ProtocolError("sent more before its authentication was answered")
        if self._authentication.takes_raw_tokens:
            self._is_busy = True
            return self._loop.create_task(self._answer_raw(bytes(frame), connection), name="SASL token")
        api_key = int.from_bytes(frame[:2], "big")
        if self._authentication.result is None:
            if api_key not in _BEFORE:
                raise ProtocolError(f"sent API key {api_key} before it was authenticated")
        elif api_key not in _AGAIN:
            raise ProtocolError(f"sent API key {api_key} after its session had ended")
        return None

    # What the handlers call.

    def handshake(self, connection: ClientConnection, mechanism: str, *, raw: bool) -> ErrorCode:
        """Begin an exchange. Where it cannot begin and `is_ended`, the connection must be closed."""
        authentication = self._authentication
        if authentication.is_under_way:
            raise ProtocolError("sent a second SaslHandshake in one exchange")
        if authentication.result is not None and not authentication.may_begin_again():
            return ErrorCode.ILLEGAL_SASL_STATE
        if not authentication.offers(mechanism):
            reason = f"asked for the SASL mechanism {mechanism[:50]!r}, which is not enabled"
            self.is_ended = True
            self.on_failure(reason)
            self._record_failure(connection, mechanism, "", reason)
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM
        try:
            authentication.begin(mechanism, raw=raw)
        except AuthenticationFailed as error:
            self._failed(connection, error)
            return ErrorCode.ILLEGAL_SASL_STATE
        self._shut(connection)
        return ErrorCode.NONE

    async def authenticate(self, connection: ClientConnection, token: bytes) -> Step | Refusal:
        """Raises ProtocolError outside of an exchange."""
        authentication = self._authentication
        if not authentication.is_under_way:
            if self.is_open:
                return Refusal(
                    ErrorCode.ILLEGAL_SASL_STATE,
                    "SaslAuthenticate request received after successful authentication",
                )
            raise ProtocolError("sent SaslAuthenticate before SaslHandshake")
        self._is_busy = True
        try:
            return await self._step(connection, token)
        finally:
            self._is_busy = False

    async def _answer_raw(self, token: bytes, connection: ClientConnection) -> Reply:
        try:
            outcome = await self._step(connection, token)
        finally:
            self._is_busy = False
        if isinstance(outcome, Refusal):
            return Reply([], close=True)  # there is no form for an error
        return Reply([len(outcome.token).to_bytes(SIZE_BYTES, "big") + outcome.token])

    async def _step(self, connection: ClientConnection, token: bytes) -> Step | Refusal:
        authentication = self._authentication
        began = self._loop.time()
        try:
            step = await authentication.respond(token)
        except AuthenticationFailed as error:
            await self._late(began)
            self._failed(connection, error)
            return Refusal(
                ErrorCode.SASL_AUTHENTICATION_FAILED,
                "Authentication failed during authentication due to invalid credentials with SASL mechanism "
                f"{authentication.mechanism_name}",
            )
        except NotChecked as error:
            await self._late(began)
            self.is_ended = True
            self.on_failure(f"could not be authenticated by {authentication.mechanism_name}: {error}")
            return Refusal(ErrorCode.SASL_AUTHENTICATION_FAILED, "", is_silent=True)
        if step.has_failed:
            await self._late(began)
        elif not authentication.is_under_way and not self.is_ended:
            self._open(connection, step.lifetime_ms)
        return step

    def _failed(self, connection: ClientConnection, error: AuthenticationFailed) -> None:
        self.is_ended = True
        mechanism = self._authentication.mechanism_name
        self.on_failure(f"failed to authenticate by {mechanism}: {error}")
        self._record_failure(connection, mechanism, error.user, str(error))

    def _record_failure(self, connection: ClientConnection, mechanism: str, user: str, reason: str) -> None:
        # Clients choose the names of mechanisms that are not enabled: no label for each.
        known = mechanism if mechanism in self._listener.mechanisms else "unknown"
        self._failures[connection.listener, known] += 1
        audit = self._audit()
        if audit is not None:
            audit.authentication_failed(_actor(connection), mechanism, user, reason)

    async def _late(self, began: float) -> None:
        """Wait until a whole number of delays has passed: the time must not tell why the client failed."""
        delay = self._listener.delay_seconds
        if delay:
            passed = self._loop.time() - began
            await asyncio.sleep(max(math.ceil(passed / delay), 1) * delay - passed)

    def _open(self, connection: ClientConnection, lifetime_ms: int) -> None:
        result = self._authentication.result
        assert result is not None
        connection.principal = str(result.principal)
        connection.fast_path = None
        self.is_open = True
        if self._timer is not None:
            self._timer.cancel()
        end = lifetime_ms / 1000
        self._timer = self._loop.call_later(end, self._shut, connection) if lifetime_ms else None
        self.on_change()
        audit = self._audit()
        if audit is not None:
            audit.authenticated(_actor(connection), self._authentication.mechanism_name)

    def _shut(self, connection: ClientConnection) -> None:
        """The session has ended, or another exchange begins: nothing but SASL from now on."""
        connection.fast_path = self.take
        if self.is_open:
            self.is_open = False
            self.on_change()


def _actor(connection: ClientConnection) -> Actor:
    return Actor(connection.principal, connection.host, connection.listener, connection.client_id)


def _nothing() -> None:
    pass


def _no_words(reason: str) -> None:
    pass

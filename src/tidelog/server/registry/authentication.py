"""Clients of the registry's port: `Authorization: Basic` with a user of the cluster, `Bearer` with a token.

Both go through the mechanisms of SASL, PLAIN and OAUTHBEARER, so that the same users and the same rules for
tokens count as at the Kafka port. A password takes milliseconds to check, on a thread. HTTP sends it with
each request, so a right one is remembered, as a keyed digest, until the users change or its time is over.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock
from tidelog.broker.security.authentication import NotChecked
from tidelog.broker.security.sasl_listener import Mechanism
from tidelog.security.sasl.conversation import Authenticated, AuthenticationFailed

KEPT_MAX = 10_000
KEPT_SECONDS = 300.0
HEADER_CHARS_MAX = 16 * 1024

BASIC, BEARER = "Basic", "Bearer"
SASL_OF = {BASIC: "PLAIN", BEARER: "OAUTHBEARER"}
"""The mechanism behind each scheme."""


class Unauthenticated(Exception):
    """The reason is for the log and the audit; a client learns no more than that it is refused."""

    def __init__(self, reason: str, scheme: str = "", user: str = "") -> None:
        super().__init__(reason)
        self.scheme = scheme
        self.user = user
        """The name that the client gave, where it came that far."""


class _Kept(NamedTuple):
    principal: str
    users: object
    until: float


class HttpAuthentication:
    def __init__(
        self,
        mechanisms: Mapping[str, Mechanism],
        clock: Clock,
        users: Callable[[], object] = lambda: None,
        kept_max: int = KEPT_MAX,
    ) -> None:
        """`mechanisms` by scheme, Basic or Bearer or both. `users` returns the users' credentials: equal as
        long as none has changed."""
        self._mechanisms = mechanisms
        self._clock = clock
        self._users = users
        self._kept_max = kept_max
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._under_way: dict[bytes, asyncio.Future[str]] = {}
        self._key = secrets.token_bytes(32)

    @property
    def challenges(self) -> list[str]:
        """For `WWW-Authenticate`."""
        return [f'{scheme} realm="schema registry"' for scheme in self._mechanisms]

    def forget(self) -> None:
        self._kept.clear()

    async def principal(self, header: str) -> str:
        """Returns the principal of an Authorization header. Raises Unauthenticated or NotChecked."""
        if not header:
            raise Unauthenticated("sent no credentials")
        digest = hmac.digest(self._key, header.encode("utf-8", "surrogatepass"), "sha256")
        kept = self._kept.get(digest)
        if kept is not None and kept.users == self._users() and self._clock.monotonic() < kept.until:
            return kept.principal
        # Connections that a client opens together bring the same secret: it is checked once.
        checking = self._under_way.get(digest)
        if checking is None:
            checking = self._under_way[digest] = asyncio.ensure_future(self._check(header, digest))
            checking.add_done_callback(lambda checked: self._checked(digest, checked))
        return await asyncio.shield(checking)

    def _checked(self, digest: bytes, checked: "asyncio.Future[str]") -> None:
        del self._under_way[digest]
        if not checked.cancelled():
            checked.exception()  # each client that still waits gets it

    async def _check(self, header: str, digest: bytes) -> str:
        scheme, message = _message(header)
        mechanism = self._mechanisms.get(scheme)
        if mechanism is None:
            raise Unauthenticated("used a scheme that is not enabled", scheme)
        users = self._users()
        found = await _answer(mechanism, scheme, message)
        until = self._clock.monotonic() + KEPT_SECONDS
        if found.expires_at_ms is not None:
            left = (found.expires_at_ms - self._clock.now_ms()) / 1000
            until = min(until, self._clock.monotonic() + left)
        self._kept[digest] = _Kept(str(found.principal), users, until)
        self._kept.move_to_end(digest)
        if len(self._kept) > self._kept_max:
            self._kept.popitem(last=False)
        return str(found.principal)


async def _answer(mechanism: Mechanism, scheme: str, message: bytes) -> Authenticated:
    conversation = mechanism.begin()
    try:
        if conversation.is_slow(message):
            await mechanism.run_slow(lambda: conversation.respond(message))
        else:
            conversation.respond(message)
    except AuthenticationFailed as error:
        raise Unauthenticated(str(error), scheme, error.user) from error
    except TidelogError as error:
        raise NotChecked(str(error)) from error
    if conversation.result is None:
        raise Unauthenticated("the token was refused", scheme)
    return conversation.result


def _message(header: str) -> tuple[str, bytes]:
    """Returns the scheme, and the credentials as SASL sends them. Raises Unauthenticated."""
    scheme, _, value = header.partition(" ")
    scheme, value = scheme.strip().title(), value.strip()
    if len(header) > HEADER_CHARS_MAX or not value:
        raise Unauthenticated("sent a malformed Authorization header")
    if scheme == BASIC:
        try:
            user, colon, password = base64.b64decode(value, validate=True).partition(b":")
        except (binascii.Error, ValueError):
            raise Unauthenticated("sent Basic credentials that are not Base64", BASIC) from None
        if not colon or b"\0" in user + password:
            raise Unauthenticated("sent Basic credentials without a user or password", BASIC)
        return BASIC, b"\0" + user + b"\0" + password
    if scheme == BEARER:
        if "\x01" in value or not value.isascii():
            raise Unauthenticated("sent a malformed token", BEARER)
        return BEARER, f"n,,\x01auth=Bearer {value}\x01\x01".encode()
    raise Unauthenticated("used a scheme that is neither Basic nor Bearer")

"""OAUTHBEARER (RFC 7628): the client shows a bearer token that its identity provider signed.

A refusal takes two steps: the client is sent a JSON error first, answers with a single control-A, and only
then does the exchange fail. Clients that follow the standard wait for that.
"""

import re
from collections.abc import Callable

from tidelog.security.jwt import Token, TokenRefused
from tidelog.security.principal import USER, Principal
from tidelog.security.sasl.conversation import Authenticated, AuthenticationFailed

MESSAGE_BYTES_MAX = 128 * 1024
_HEADER = re.compile(r"n,(?:a=((?:[^,=\x00\x01]|=2C|=3D)+))?,")
_PAIR = re.compile(r"([A-Za-z]+)=([^\x00]*)")
PAIRS_MAX = 100
_REFUSED = b'{"status":"invalid_token"}'


class OauthBearerServer:
    def __init__(self, verify: Callable[[str], Token]) -> None:
        """`verify` raises TokenRefused."""
        self.result: Authenticated | None = None
        self._verify = verify
        self._refused: TokenRefused | None = None

    @property
    def has_failed(self) -> bool:
        return self._refused is not None

    def is_slow(self, message: bytes) -> bool:
        """A signature takes a tenth of a millisecond, but the keys may have to be fetched first."""
        return self._refused is None

    def respond(self, message: bytes) -> bytes:
        if self._refused is not None:
            raise AuthenticationFailed(f"the token was refused: {self._refused}")
        authzid, token = _read(message)
        try:
            verified = self._verify(token)
        except TokenRefused as error:
            self._refused = error
            return _REFUSED
        if authzid is not None and authzid != verified.subject:
            raise AuthenticationFailed(
                f"user {verified.subject!r} asked to act as another user", verified.subject
            )
        self.result = Authenticated(Principal(USER, verified.subject), verified.expires_at_ms)
        return b""


def _read(message: bytes) -> tuple[str | None, str]:
    if len(message) > MESSAGE_BYTES_MAX:
        raise AuthenticationFailed("an OAUTHBEARER message that is too long")
    try:
        header, *pairs = message.decode().split("\x01", PAIRS_MAX + 3)
    except UnicodeDecodeError as error:
        raise AuthenticationFailed("an OAUTHBEARER message that is not UTF-8") from error
    # Each pair has a control-A behind it, and the message another one.
    parsed = _HEADER.fullmatch(header)
    read = [_PAIR.fullmatch(pair) for pair in pairs[:-2]]
    if parsed is None or not read or pairs[-2:] != ["", ""] or None in read:
        raise AuthenticationFailed("a malformed OAUTHBEARER message")
    values = [pair[2] for pair in read if pair is not None and pair[1] == "auth"]
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not token.strip():
        raise AuthenticationFailed("an OAUTHBEARER message without a bearer token")
    authzid: str | None = parsed[1]
    return authzid and authzid.replace("=2C", ",").replace("=3D", "="), token.strip()

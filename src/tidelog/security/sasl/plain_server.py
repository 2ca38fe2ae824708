"""PLAIN (RFC 4616): the password itself arrives, so this mechanism belongs on TLS listeners."""

from collections.abc import Callable

from tidelog.security.principal import USER, Principal
from tidelog.security.sasl.conversation import Authenticated, AuthenticationFailed

MESSAGE_BYTES_MAX = 8192


class PlainServer:
    has_failed = False

    def __init__(
        self,
        is_password: Callable[[str, str], bool],
        is_configured: Callable[[str, str], bool] = lambda username, password: False,
    ) -> None:
        """`is_password(user, password)` takes as long for an unknown user as for a wrong password.
        `is_configured` knows right passwords at once; the others are the slow one's."""
        self.result: Authenticated | None = None
        self._is_password = is_password
        self._is_configured = is_configured

    def is_slow(self, message: bytes) -> bool:
        """A broker that logs in at another must not wait behind a flood of clients' passwords."""
        try:
            _, username, password = _fields(message)
        except AuthenticationFailed:
            return False
        return not self._is_configured(username, password)

    def respond(self, message: bytes) -> bytes:
        authzid, username, password = _fields(message)
        if authzid and authzid != username:
            raise AuthenticationFailed(f"user {username!r} asked to act as another user", username)
        if not self._is_password(username, password):
            raise AuthenticationFailed(f"user {username!r}: unknown user or wrong password", username)
        self.result = Authenticated(Principal(USER, username))
        return b""


def _fields(message: bytes) -> list[str]:
    if len(message) > MESSAGE_BYTES_MAX:
        raise AuthenticationFailed("a PLAIN message that is too long")
    try:
        fields = message.decode().split("\0")
    except UnicodeDecodeError as error:
        raise AuthenticationFailed("a PLAIN message that is not UTF-8") from error
    if len(fields) != 3 or not fields[1] or not fields[2]:
        raise AuthenticationFailed("a malformed PLAIN message")
    return fields

"""What every SASL mechanism looks like from outside."""

from typing import NamedTuple, Protocol

from tidelog.base.errors import TidelogError
from tidelog.security.principal import Principal


class Authenticated(NamedTuple):
    """The end of a conversation that succeeded."""

    principal: Principal
    expires_at_ms: int | None = None
    """When the credential itself ends, as tokens do; None for passwords."""
    is_token: bool = False
    """A delegation token was used: such a connection may not create further tokens."""


class AuthenticationFailed(TidelogError):
    """The client is not who it says. The text goes to the broker's log and the audit, never to the client."""

    def __init__(self, text: str, user: str = "") -> None:
        super().__init__(text)
        self.user = user
        """The name that the client gave, where it came that far."""


class Conversation(Protocol):
    """One exchange on one connection. Raises AuthenticationFailed, after which it must not be used again."""

    result: Authenticated | None
    """Set once the client is authenticated; `respond` may still have returned bytes that the client wants."""

    @property
    def has_failed(self) -> bool:
        """The client is refused, and gets bytes of the mechanism that tell it so before the exchange ends."""
        ...

    def is_slow(self, message: bytes) -> bool:
        """Whether `respond` computes for milliseconds, so that it belongs on a thread."""
        ...

    def respond(self, message: bytes) -> bytes: ...

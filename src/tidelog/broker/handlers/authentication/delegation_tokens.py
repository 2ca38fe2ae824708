"""What the four APIs of delegation tokens share (KIP-48): who may use them at all, and their secret."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.tokens import TokenTimes
from tidelog.security.principal import ANONYMOUS

_ANONYMOUS = str(ANONYMOUS)


def refusal_here(context: Context) -> ErrorCode | None:
    """Asked where the client is connected: a token cannot make or see further ones, and needs an owner."""
    connection = context.connection
    if context.services.config.optional_text("delegation.token.secret.key") is None:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    is_token = connection.gate is not None and connection.gate.is_token
    if is_token or connection.principal == _ANONYMOUS:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return None


def secret_of(context: Context) -> bytes:
    return (context.services.config.optional_text("delegation.token.secret.key") or "").encode()


def times_of(context: Context) -> TokenTimes:
    config = context.services.config
    return TokenTimes(
        expiry_ms=config.int("delegation.token.expiry.time.ms"),
        lifetime_max_ms=config.int("delegation.token.max.lifetime.ms"),
    )

"""ExpireDelegationToken: its owner, requester or a renewer ends it, at once or after a while."""

from tidelog.broker.handlers.authentication.delegation_tokens import refusal_here, secret_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.tokens import decide_expire_token
from tidelog.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def check_here(
    context: Context, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | None:
    error = refusal_here(context)
    return None if error is None else ExpireDelegationTokenResponse(error_code=error)


async def handle(context: Context, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    services = context.services
    [result] = await services.metadata.change(
        lambda image: decide_expire_token(
            image,
            secret_of(context),
            bytes(request.hmac),
            principal=context.connection.principal,
            period_ms=request.expiry_time_period_ms,
            now_ms=services.clock.now_ms(),
        )
    )
    return ExpireDelegationTokenResponse(error_code=result.error, expiry_timestamp=result.expires_ms)

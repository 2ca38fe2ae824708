"""RenewDelegationToken: its owner, requester or a renewer extends its time, up to its maximum lifetime."""

from tidelog.broker.handlers.authentication.delegation_tokens import refusal_here, secret_of, times_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.tokens import decide_renew_token
from tidelog.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def check_here(context: Context, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse | None:
    error = refusal_here(context)
    return None if error is None else RenewDelegationTokenResponse(error_code=error)


async def handle(context: Context, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    services = context.services
    [result] = await services.metadata.change(
        lambda image: decide_renew_token(
            image,
            secret_of(context),
            bytes(request.hmac),
            principal=context.connection.principal,
            period_ms=request.renew_period_ms,
            times=times_of(context),
            now_ms=services.clock.now_ms(),
        )
    )
    return RenewDelegationTokenResponse(error_code=result.error, expiry_timestamp=result.expires_ms)

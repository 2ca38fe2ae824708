"""SaslAuthenticate: a token of the mechanism that SaslHandshake chose."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.answer import NO_RESPONSE, NoResponse
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.gate import Refusal
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


async def handle(context: Context, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse | NoResponse:
    gate = context.connection.gate
    if gate is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message=f"The listener {context.connection.listener} has no SASL.",
        )
    outcome = await gate.authenticate(context.connection, bytes(request.auth_bytes))
    if isinstance(outcome, Refusal):
        context.closes = gate.is_ended
        if outcome.is_silent:
            return NO_RESPONSE
        return SaslAuthenticateResponse(error_code=outcome.code, error_message=outcome.message)
    return SaslAuthenticateResponse(auth_bytes=outcome.token, session_lifetime_ms=outcome.lifetime_ms)

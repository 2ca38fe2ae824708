"""SaslHandshake: choose a mechanism. Since version 1 the tokens travel in SaslAuthenticate, before in frames
of their own."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(context: Context, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    gate = context.connection.gate
    if gate is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    error = gate.handshake(context.connection, request.mechanism, raw=context.version == 0)
    context.closes = gate.is_ended
    return SaslHandshakeResponse(error_code=error, mechanisms=gate.mechanisms)

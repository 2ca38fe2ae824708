"""PushTelemetry: a client's own metrics, as OTLP bytes."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.telemetry.client_facts import facts_of
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse


async def handle(context: Context, request: PushTelemetryRequest) -> PushTelemetryResponse:
    metrics = context.services.client_metrics
    if metrics is None:
        return PushTelemetryResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    try:
        await metrics.push(
            facts_of(context, request.client_instance_id),
            request.subscription_id,
            request.compression_type,
            request.metrics,
            is_terminating=request.terminating,
        )
    except KafkaError as error:
        return PushTelemetryResponse(error_code=error.code)
    return PushTelemetryResponse()

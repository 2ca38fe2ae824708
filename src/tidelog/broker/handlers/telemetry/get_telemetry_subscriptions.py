"""GetTelemetrySubscriptions: which of its metrics this client is to push, and how often."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.client_metrics import ACCEPTED_CODECS
from tidelog.broker.handlers.telemetry.client_facts import facts_of
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


def handle(context: Context, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    metrics = context.services.client_metrics
    if metrics is None:
        return GetTelemetrySubscriptionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    instance_id = request.client_instance_id
    if instance_id == ZERO_UUID:
        instance_id = metrics.new_instance_id()
    try:
        subscription = metrics.subscribe(facts_of(context, instance_id)).subscription
    except KafkaError as error:
        return GetTelemetrySubscriptionsResponse(error_code=error.code)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=subscription.id,
        accepted_compression_types=list(ACCEPTED_CODECS),
        push_interval_ms=subscription.interval_ms,
        telemetry_max_bytes=metrics.bytes_max,
        # Prometheus wants counters that grow: nothing is lost with a push or a change of the broker.
        delta_temporality=False,
        requested_metrics=list(subscription.metrics),
    )

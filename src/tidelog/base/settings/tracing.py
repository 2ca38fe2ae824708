"""Traces of slow requests, sent to a collector of OpenTelemetry."""

from tidelog.base.config.setting import Importance, Kind, Setting, Unit, Value


def _check_endpoint(value: Value) -> str | None:
    if not value or str(value).startswith(("http://", "https://")):
        return None
    return "use the address of OTLP over HTTP, such as http://localhost:4318/v1/traces"


SETTINGS = (
    Setting(
        "tracing.otlp.endpoint",
        Kind.STRING,
        "",
        "Where spans of slow requests are sent by OTLP over HTTP, such as `http://localhost:4318/v1/traces`. "
        "Needs `pip install 'tidelog[otel]'`.",
        check=_check_endpoint,
        special="empty: no traces",
        ours=True,
    ),
    Setting(
        "tracing.slow.requests.ms",
        Kind.INT,
        100,
        "A request that takes longer becomes a span, with what it waited for. Of a fetch that waits for "
        "records, and of a member that waits for its group, only the time counts that the broker itself "
        "spends. Needs `tracing.otlp.endpoint`.",
        unit=Unit.MILLISECONDS,
        minimum=0,
        importance=Importance.LOW,
        special="0: every request",
        ours=True,
    ),
)

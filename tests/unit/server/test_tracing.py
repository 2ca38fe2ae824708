"""Traces without the package that they need."""

import sys
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tidelog.base.config.config import ConfigError, load
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.server.tracing import open_tracing


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    config = load(flags={"tracing.otlp.endpoint": "http://localhost:4318/v1/traces"})
    services: Any = None
    with pytest.raises(ConfigError, match=r"tidelog\[otel\]"):
        open_tracing(AsyncExitStack(), config, services, RequestMetrics())


def test_an_endpoint_is_an_address_of_http() -> None:
    with pytest.raises(ConfigError, match="http://localhost:4318/v1/traces"):
        load(flags={"tracing.otlp.endpoint": "localhost:4317"})

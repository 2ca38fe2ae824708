"""Traces of the client without the package that they need."""

import sys

import pytest

from tidelog import ConfigurationError
from tidelog.clients.tracing import TraceInjector


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.propagate", None)
    with pytest.raises(ConfigurationError, match=r"tidelog\[otel\]"):
        TraceInjector()

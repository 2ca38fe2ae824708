"""A registry in memory that every client asks, whatever its options."""

import pytest

from tests.unit.spark.values.registered.fake_registry import OPTIONS, FakeRegistry
from tidelog.blocking.registry.client import RegistryClient
from tidelog.spark.values import udf
from tidelog.spark.values.registered import decoding, reader


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> FakeRegistry:
    fake = FakeRegistry()
    client = RegistryClient(OPTIONS, calls=fake)  # type: ignore[arg-type]
    for module in (reader, decoding):
        monkeypatch.setattr(module, "client_of", lambda _: client)
    udf._decoder.cache_clear()  # else it is a worker that knows the schemas of another test
    return fake

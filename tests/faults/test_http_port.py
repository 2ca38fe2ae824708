"""The HTTP port of a real broker: what it serves, and what it does with clients that misbehave."""

import http.client
import json
from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from tests.faults.raw_client import RawClient
from tidelog.metrics.catalogue import FAMILIES
from tidelog.testing import Broker

OPEN_METRICS = "application/openmetrics-text;version=1.0.0"


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(settings={"metrics.port": -1, "event.loop": request.param}) as running:
        yield running


def get(broker: Broker, path: str, **headers: str) -> tuple[int, str, str]:
    address = broker.metrics_address
    assert address is not None
    connection = http.client.HTTPConnection(address, timeout=20)
    try:
        connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(("accept", "parse"), [("*/*", prometheus), (OPEN_METRICS, open_metrics)])
def test_the_page_is_what_prometheus_reads(broker: Broker, accept: str, parse) -> None:  # type: ignore[no-untyped-def]
    status, _, text = get(broker, "/metrics", accept=accept)
    assert status == 200
    families = {family.name: family for family in parse(text)}
    assert families["tidelog_connections"].type == "gauge"
    assert families["tidelog_event_loop_lag_seconds"].type == "histogram"
    for name, family in families.items():
        known = FAMILIES.get(name) or FAMILIES[f"{name}_total"]
        assert family.type == known.kind.value
        assert family.documentation == known.help


def test_connections_are_counted_by_listener(broker: Broker) -> None:
    with RawClient(broker.port):
        _, _, text = get(broker, "/metrics")
    assert 'tidelog_connections{listener="PLAINTEXT"} 1' in text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_broker_that_serves_is_alive_and_ready(broker: Broker, path: str) -> None:
    status, kind, text = get(broker, path)
    assert (status, kind, json.loads(text)) == (200, "application/json", {"ok": True})


def test_other_paths_are_not_there(broker: Broker) -> None:
    assert get(broker, "/admin")[0] == 404


def test_without_the_setting_there_is_no_port() -> None:
    with Broker() as broker:
        assert broker.metrics_address is None

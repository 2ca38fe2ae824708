"""The HTTP port of a real broker: what it serves, and what it does with clients that misbehave."""

import http.client
import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka.admin
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from tests.faults.raw_client import RawClient
from tidelog.base.errors import TidelogError
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


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/readyz/machine"])
def test_a_broker_that_serves_is_alive_and_ready(broker: Broker, path: str) -> None:
    status, kind, text = get(broker, path)
    assert (status, kind, json.loads(text)) == (200, "application/json", {"ok": True})


def test_other_paths_are_not_there(broker: Broker) -> None:
    assert get(broker, "/admin")[0] == 404


def test_a_target_may_be_a_whole_url(broker: Broker) -> None:
    assert get(broker, "http://any.host:1234/healthz?a=b")[0] == 200
    assert [
        get(broker, path)[0] for path in ("http://any.host", "http://any.host/x", "/x://any/healthz")
    ] == [404] * 3


def test_a_token_protects_metrics_and_not_health(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    with Broker(settings={"metrics.port": -1, "metrics.token.file": str(file)}) as broker:
        assert get(broker, "/metrics")[0] == 401
        assert get(broker, "/metrics", authorization="Bearer wrong")[0] == 401
        assert get(broker, "/metrics", authorization="Bearer secret")[0] == 200
        assert get(broker, "/readyz")[0] == 200
        file.write_text("another one")
        assert get(broker, "/metrics", authorization="Bearer secret")[0] == 401
        assert get(broker, "/metrics", authorization="bearer another one")[0] == 200
        file.unlink()
        assert get(broker, "/metrics", authorization="Bearer another one")[0] == 200


@pytest.mark.parametrize("content", [None, " \n"])
def test_a_broker_whose_token_is_missing_does_not_start(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(TidelogError, match=r"metrics\.token\.file"):
        Broker(settings={"metrics.port": -1, "metrics.token.file": str(file)}).start()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_metrics_over_tls_with_the_brokers_certificate(loop: str) -> None:
    settings = {"metrics.port": -1, "metrics.security.protocol": "SSL", "event.loop": loop}
    with Broker(settings=settings, security="sasl_ssl") as broker:
        config = broker.client_config()
        trusted = ssl.create_default_context(cafile=config["ssl.ca.location"])
        url = f"https://{broker.metrics_address}/metrics"
        with urllib.request.urlopen(url, timeout=20, context=trusted) as answer:
            assert b"tidelog_connections" in answer.read()
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(url.replace("https", "http"), timeout=20)
        wrong = config | {"sasl.password": "wrong", "error_cb": lambda _: None}
        with pytest.raises(Exception, match=r".*"):
            confluent_kafka.admin.AdminClient(wrong).list_topics(timeout=5)
        with urllib.request.urlopen(url, timeout=20, context=trusted) as answer:
            text = answer.read().decode()
        assert 'tidelog_authentication_failures_total{listener="SASL_SSL",mechanism="SCRAM-SHA' in text


def test_without_the_setting_there_is_no_port() -> None:
    with Broker() as broker:
        assert broker.metrics_address is None

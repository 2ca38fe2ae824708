"""A real Prometheus scrapes a real cluster: dashboards have data, a broker dies, and a person hears of it."""

import re
import subprocess
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from confluent_kafka import Consumer, Producer

from tests.chaos.peer_links import free_ports
from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.victim import wait_until
from tests.faults.raw_client import RawClient
from tests.interop.prometheus.servers import Alertmanager, Prometheus, Receiver, needed, running
from tests.rigs.repository import ROOT
from tidelog import Queue
from tidelog.cli.spark.metrics_port import MetricsAddress
from tidelog.cli.spark.metrics_server import served
from tidelog.monitoring.dashboards.catalogue import CLUSTER, DASHBOARDS, PIPELINES
from tidelog.monitoring.dashboards.dashboard import Dashboard
from tidelog.spark.pipeline.metrics import PipelineMetrics
from tidelog.spark.pipeline.progress import QueryProgress
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PATIENCE_S = 90.0
JOB = "orders-cluster"
PIPELINES_JOB = "pipelines"
TOPIC = "orders"
AT_WORK = QueryProgress(
    "revenue",
    rows=1000,
    output_rows=900,
    batches=7,
    lag_by_topic={TOPIC: 12},
    watermark="2026-01-01T00:00:00.000Z",
    ended_s=1_767_225_600.0,
)
"""A query of a pipeline, as its driver sees it between two micro-batches."""

NEEDS_A_FAULT = {"Firing alerts"}
"""Panels that stay empty while all is well; the broker that dies below fills them."""
OF_THE_REGISTRY = {"Calls of the schema registry", "Calls, 99th percentile", "Schemas"}
"""Its port is closed here, and one broker alone knows the schemas; `test_state_metrics` sees the metrics."""


@dataclass
class Monitored:
    cluster: ProcessCluster
    prometheus: Prometheus
    alertmanager: Alertmanager
    receiver: Receiver
    ports: dict[int, int]
    pipeline: PipelineMetrics

    def answers(self, dashboard: Dashboard, panels_left_out: set[str]) -> dict[str, int]:
        """Returns the number of series that each query of a dashboard finds."""
        values = {"job": JOB, "broker": f"127.0.0.1:{self.ports[1]}", "topic": ".*", "group": ".*"}
        if dashboard is PIPELINES:
            values = {"job": PIPELINES_JOB, "pipeline": ".*"}
        found = {}
        for panel in dashboard.panels:
            for query in panel.queries:
                if panel.title not in panels_left_out:
                    expression = query.expression.replace("$__rate_interval", "20s")
                    expression = re.sub(r"\$(\w+)", lambda name: values[name[1]], expression)
                    found[f"{panel.title}: {expression}"] = len(self.prometheus.query(expression))
        return found


class Traffic:
    """Producers, a group, a queue, transactions and a client that errs, as long as the test runs."""

    def __init__(self, servers: str, port: int) -> None:
        self._servers = servers
        self._port = port
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._run, self._work)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        quiet = {"bootstrap.servers": self._servers, "log_level": 0}
        producer = Producer({**quiet, "transactional.id": "shop", "linger.ms": 0})
        producer.init_transactions(30)
        group = {"group.id": "billing", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer({**quiet, **group})
        consumer.subscribe([TOPIC])
        while not self._stop.is_set():
            producer.begin_transaction()
            for index in range(4):
                producer.produce(TOPIC, b"x" * 1000, partition=index)
            producer.commit_transaction(30)
            if consumer.consume(20, 0.1):
                consumer.commit(asynchronous=False)
            with RawClient(self._port) as client:
                client.ask(ApiKey.METADATA, MetadataRequest(topics=[MetadataRequestTopic(name="nowhere")]))
        consumer.close()

    def _work(self) -> None:
        with Queue(TOPIC, self._servers, group_id="workers") as jobs:
            while not self._stop.is_set():
                for job in jobs.take(timeout_ms=200, limit=20):
                    job.done()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


def until(condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    wait_until(condition, what, PATIENCE_S, pause_s=0.2)


def firing(prometheus: Prometheus) -> set[str]:
    return {alert["labels"]["alertname"] for alert in prometheus.firing()}


def critical(prometheus: Prometheus) -> list[str]:
    """What would wake a person up: its texts."""
    alerts = [alert for alert in prometheus.firing() if alert["labels"]["severity"] == "critical"]
    return [alert["annotations"]["description"] for alert in alerts]


def everything_but(titles: set[str]) -> set[str]:
    return {panel.title for panel in CLUSTER.panels} - titles


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    directory = tmp_path_factory.mktemp("monitored")
    cluster = ProcessCluster(directory, settings={"durability": "fsync"})
    ports = dict(zip(cluster.members, free_ports(len(cluster.members)), strict=True))
    for node_id, port in ports.items():
        cluster.members[node_id].set("metrics.port", port)
        cluster.members[node_id].set("metrics.host", "127.0.0.1")
    try:
        cluster.start()
        cluster.create_topic(TOPIC, 4)
        [pipeline_port] = free_ports(1)
        jobs = {JOB: list(ports.values()), PIPELINES_JOB: [pipeline_port]}
        pipeline = PipelineMetrics("sales")
        pipeline.take([AT_WORK])
        with (
            served(pipeline, MetricsAddress(pipeline_port, "127.0.0.1"), lambda *_, **__: None),
            running(directory, jobs) as (prometheus, alertmanager, receiver),
        ):
            yield Monitored(cluster, prometheus, alertmanager, receiver, ports, pipeline)
    finally:
        cluster.end()


def test_a_page_has_each_series_once_and_promtool_accepts_it(monitored: Monitored) -> None:
    for port in monitored.ports.values():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            text = answer.read()
        subprocess.run([needed("promtool"), "check", "metrics"], input=text, check=True, capture_output=True)
        series = [line.rpartition(" ")[0] for line in text.decode().splitlines() if line[0] != "#"]
        assert [each for each, count in Counter(series).items() if count > 1] == []


def test_the_queries_of_every_dashboard_find_data(monitored: Monitored) -> None:
    traffic = Traffic(monitored.cluster.bootstrap_servers, monitored.cluster.members[1].port)
    empty: list[str] = []

    def all_have_data() -> bool:
        empty[:] = [
            f"{dashboard.name}, {query}"
            for dashboard in DASHBOARDS
            for query, series in monitored.answers(dashboard, NEEDS_A_FAULT | OF_THE_REGISTRY).items()
            if not series
        ]
        return not empty

    try:
        wait_until(all_have_data, lambda: "\n".join(["all queries find data", *empty]), PATIENCE_S, pause_s=1)
    finally:
        traffic.stop()


def test_a_broker_dies_and_a_person_hears_of_it_until_it_is_back(monitored: Monitored) -> None:
    cluster, prometheus, receiver = monitored.cluster, monitored.prometheus, monitored.receiver
    cluster.until_whole()
    until(lambda: not critical(prometheus), lambda: f"all is well: {critical(prometheus)}")
    instance = f"127.0.0.1:{monitored.ports[3]}"
    down = {"alertname": "TidelogBrokerDown", "instance": instance}

    cluster.members[3].kill()
    until(lambda: bool(receiver.of(down, "firing")), "the message arrives")
    message = receiver.of(down, "firing")[0]
    assert message["labels"]["severity"] == "critical"
    assert message["annotations"]["description"].startswith(f"Prometheus cannot scrape {instance} of {JOB}:")
    assert (ROOT / message["annotations"]["runbook_url"]).is_file()

    until(lambda: "TidelogUnderReplicated" in firing(prometheus), "replicas are missed")
    # It follows from a broker that is down, and is not worth a message of its own.
    until(lambda: monitored.alertmanager.is_suppressed("TidelogUnderReplicated"), "that one is suppressed")
    assert all(monitored.answers(CLUSTER, everything_but(NEEDS_A_FAULT)).values())

    cluster.launch_missing()
    until(lambda: bool(receiver.of(down, "resolved")), "the all-clear arrives")
    until(lambda: "TidelogUnderReplicated" not in firing(prometheus), "replicas are back")


def test_a_pipeline_fails_and_a_person_hears_of_it(monitored: Monitored) -> None:
    failed = {"alertname": "TidelogPipelineFailed", "pipeline": "sales", "query": "revenue"}
    monitored.pipeline.take([replace(AT_WORK, is_active=False)])
    until(lambda: bool(monitored.receiver.of(failed, "firing")), "the message arrives")
    assert "pipeline sales" in monitored.receiver.of(failed, "firing")[0]["annotations"]["description"]
    monitored.pipeline.take([replace(AT_WORK, restarts=1)])
    until(lambda: bool(monitored.receiver.of(failed, "resolved")), "the all-clear arrives")

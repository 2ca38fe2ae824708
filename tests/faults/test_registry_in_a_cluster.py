"""The schema registry of three real brokers: one registry, whichever broker is asked or dies."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import pytest

from tidelog.metadata.topics.names import SCHEMAS
from tidelog.testing import Cluster

BROKERS = (1, 2, 3)
TIMEOUT_S = 40.0


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def call(cluster: Cluster, broker: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Raises OSError or HTTPException where the broker is gone."""
    connection = HTTPConnection(
        urlsplit(cluster.brokers[broker].schema_registry_url).netloc, timeout=TIMEOUT_S
    )
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def register(cluster: Cluster, broker: int, subject: str, schema: Any) -> tuple[int, Any]:
    return call(cluster, broker, "POST", f"/subjects/{subject}/versions", {"schema": json.dumps(schema)})


def record(name: str) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "id", "type": "long"}]}


def leader(cluster: Cluster) -> int:
    life = next(broker for broker in cluster.brokers.values() if broker.is_running)._life
    assert life is not None
    partition = life.node.services.metadata.image.partition(SCHEMAS, 0)
    assert partition is not None
    return partition.leader


def test_one_schema_registered_everywhere_at_once_has_one_id(cluster: Cluster) -> None:
    def same(n: int) -> tuple[int, Any]:
        return register(cluster, 1 + n % 3, "orders-value", record("Order"))

    def other(n: int) -> tuple[int, Any]:
        return register(cluster, 1 + n % 3, f"s{n % 8}-value", record(f"R{n % 8}"))

    with ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(same, range(24)))
        assert {(status, answer["id"], answer["version"]) for status, answer in answers} == {(200, 1, 1)}
        others = list(clients.map(other, range(24)))
    ids = {(n % 8, answer["id"]) for n, (_, answer) in enumerate(others)}
    assert sorted(id for _, id in ids) == list(range(2, 10)), "each schema has one id, and no two share one"
    for broker in BROKERS:
        assert call(cluster, broker, "GET", "/subjects/orders-value/versions") == (200, [1])


def test_no_registration_that_was_answered_is_lost_when_the_leader_is_killed(cluster: Cluster) -> None:
    assert register(cluster, 1, "first", record("First"))[0] == 200
    killed = leader(cluster)
    left = [broker for broker in BROKERS if broker != killed]
    known: dict[str, int] = {}
    stop = threading.Event()

    def work(worker: int) -> None:
        number = 0
        while not stop.is_set():
            subject = f"w{worker}-{number}"
            try:
                status, answer = register(cluster, left[worker % 2], subject, record(f"W{worker}_{number}"))
            except (OSError, HTTPException):
                continue
            assert status in (200, 503), answer
            if status == 200:
                known[subject] = answer["id"]
                number += 1

    with ThreadPoolExecutor(4) as workers:
        working = [workers.submit(work, worker) for worker in range(4)]
        time.sleep(0.3)
        before = len(known)
        cluster.kill(killed)
        deadline = time.monotonic() + TIMEOUT_S
        while len(known) < before + 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()
        for one in working:
            one.result()
    assert before > 0
    assert len(known) >= before + 20, "the next leader registers, too"
    assert len(set(known.values())) == len(known), "ids are given once"
    for subject, id in known.items():
        status, answer = call(cluster, left[0], "GET", f"/subjects/{subject}/versions/latest")
        assert (status, answer["id"]) == (200, id)

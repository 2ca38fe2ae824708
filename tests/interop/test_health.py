"""The health of brokers of a real cluster: ready while they serve, and not when they stop or are fenced."""

from collections.abc import Iterator

import pytest

from tests.interop.waiting import eventually
from tidelog.broker.health import Health
from tidelog.testing import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def health(cluster: Cluster, id: int) -> Health:
    return Health.of(cluster.brokers[id]._running().node.services)


def test_brokers_that_serve_are_live_and_ready(cluster: Cluster) -> None:
    for id in cluster.brokers:
        assert health(cluster, id).live().ok
        eventually(lambda id=id: health(cluster, id).ready().ok)  # type: ignore[misc]


def test_a_broker_that_stops_is_not_ready(cluster: Cluster) -> None:
    services = cluster.brokers[3]._running().node.services
    cluster.stop_broker(3)
    assert Health.of(services).ready().reason == "broker 3 is stopping"
    cluster.restart(3)
    eventually(lambda: health(cluster, 3).ready().ok)


def test_a_fenced_broker_is_not_ready_until_it_is_back(cluster: Cluster) -> None:
    away = next(id for id, broker in cluster.brokers.items() if not broker.is_controller)
    others = [id for id in cluster.brokers if id != away]
    cluster.isolate([away], others)
    eventually(
        lambda: cluster.brokers[others[0]]._running().node.services.metadata.image.brokers[away].fenced
    )
    cluster.heal()
    eventually(lambda: health(cluster, away).ready().ok)

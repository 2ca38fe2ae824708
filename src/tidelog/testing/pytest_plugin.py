"""The pytest plugin: `tidelog_broker` gives each test an empty broker of its own, `tidelog_cluster` three.

A start takes less than a tenth of a second, so tests need not share and cannot disturb each other.
`tidelog_session_broker` is one broker for the whole run, for suites that use topics of their own names.
Nothing of Tidelog is imported until a test asks for a broker.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker
    from tidelog.testing.cluster import Cluster

MARKER = (
    "tidelog(settings): settings for the tidelog_broker or tidelog_cluster of this test, by Kafka's names"
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def tidelog_broker(request: pytest.FixtureRequest) -> "Iterator[Broker]":
    """A real broker, empty, for this test; `tidelog_broker.bootstrap_servers` is its address.

    Settings come from the marker: `@pytest.mark.tidelog({"num.partitions": 3})`.
    """
    from tidelog.testing.broker import Broker

    with Broker(settings=_marked_settings(request.node)) as broker:
        yield broker


@pytest.fixture
def tidelog_cluster(request: pytest.FixtureRequest) -> "Iterator[Cluster]":
    """Three real brokers that replicate, empty, for this test; settings come from the same marker.

    `tidelog_cluster.kill(1)`, `.restart(1)` and `.cut({1}, {2, 3})` show how a client bears up.
    """
    from tidelog.testing.cluster import Cluster

    with Cluster(brokers=3, settings=_marked_settings(request.node)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def tidelog_session_broker() -> "Iterator[Broker]":
    """A real broker that all tests of the run share; give each test's topics names of their own."""
    from tidelog.testing.broker import Broker

    with Broker() as broker:
        yield broker


def _marked_settings(node: Any) -> dict[str, Any]:
    """All `tidelog` marks of a test, the nearest one last, so that it wins over its class and module."""
    settings: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("tidelog"))):
        given = [*mark.args, *mark.kwargs.values()]
        if len(given) != 1 or not isinstance(given[0], dict) or mark.kwargs.keys() - {"settings"}:
            raise pytest.UsageError('write the mark as @pytest.mark.tidelog({"num.partitions": 3})')
        settings |= given[0]
    return settings

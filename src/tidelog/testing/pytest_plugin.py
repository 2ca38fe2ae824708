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
    """An empty `tidelog.testing.Broker` for this test alone.

    Settings come from a mark on the test, its class or its module.

    Example:
        import pytest
        from tidelog import Producer

        @pytest.mark.tidelog({"num.partitions": 3})
        def test_orders_are_published(tidelog_broker):
            with Producer({"bootstrap.servers": tidelog_broker.bootstrap_servers}) as producer:
                assert producer.send("orders", "42").result().offset == 0
    """
    from tidelog.testing.broker import Broker

    with Broker(settings=_marked_settings(request.node)) as broker:
        yield broker


@pytest.fixture
def tidelog_cluster(request: pytest.FixtureRequest) -> "Iterator[Cluster]":
    """An empty `tidelog.testing.Cluster` of three brokers for this test alone.

    Settings come from the same mark.

    Example:
        from tidelog import Producer

        def test_nothing_is_lost_when_a_broker_dies(tidelog_cluster):
            with Producer({"bootstrap.servers": tidelog_cluster.bootstrap_servers}) as producer:
                producer.send("orders", "before").result()
                tidelog_cluster.kill(1)
                assert producer.send("orders", "meanwhile").result().offset == 1
    """
    from tidelog.testing.cluster import Cluster

    with Cluster(brokers=3, settings=_marked_settings(request.node)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def tidelog_session_broker() -> "Iterator[Broker]":
    """One `tidelog.testing.Broker` for the whole run. Give each test's topics names of their own.

    Example:
        import uuid
        from tidelog import Admin

        def test_with_a_topic_of_its_own(tidelog_session_broker):
            with Admin({"bootstrap.servers": tidelog_session_broker.bootstrap_servers}) as admin:
                assert admin.create_topic(f"orders-{uuid.uuid4()}")
    """
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

"""The pytest plugin: `tidelog_broker` gives each test an empty broker of its own, `tidelog_cluster` three.

A start takes less than a tenth of a second, so tests need not share and cannot disturb each other.
`tidelog_session_broker` is one broker for the whole run, for suites that use topics of their own names.
Nothing of Tidelog is imported until a test asks for a broker.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker
    from tidelog.testing.cluster import Cluster
    from tidelog.testing.security import Security

MARKER = (
    "tidelog(settings, security=, mechanism=, users=, acls=): settings for the tidelog_broker or "
    "tidelog_cluster of this test, by Kafka's names; and how it is secured, for which users"
)
OF_SECURITY = ("security", "mechanism", "users", "acls")


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

        @pytest.mark.tidelog(security="sasl_ssl", users=["ann"])
        def test_orders_are_published_by_ann(tidelog_broker):
            with Producer(tidelog_broker.client_config("ann")) as producer:
                assert producer.send("orders", "42").result().offset == 0
    """
    from tidelog.testing.broker import Broker

    marked = _marked(request.node)
    with Broker(settings=marked.settings, security=marked.security) as broker:
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

    marked = _marked(request.node)
    with Cluster(brokers=3, settings=marked.settings, security=marked.security) as cluster:
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


class Marked(NamedTuple):
    settings: dict[str, Any]
    security: "Security | None"


def _marked(node: Any) -> Marked:
    """All `tidelog` marks of a test, the nearest one last, so that it wins over its class and module."""
    settings: dict[str, Any] = {}
    security: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("tidelog"))):
        given = [*mark.args, *(value for name, value in mark.kwargs.items() if name == "settings")]
        of_security = {name: value for name, value in mark.kwargs.items() if name in OF_SECURITY}
        unknown = mark.kwargs.keys() - {"settings", *OF_SECURITY}
        if unknown or len(given) > 1 or not (given or of_security) or not all(map(_is_dict, given)):
            raise pytest.UsageError(
                'write the mark as @pytest.mark.tidelog({"num.partitions": 3}), or with '
                'security="sasl_ssl", and with users=["ann"] and the like'
            )
        settings |= given[0] if given else {}
        security |= of_security
    return Marked(settings, _security(security))


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _security(given: dict[str, Any]) -> "Security | None":
    if not given:
        return None
    from tidelog.testing.security import Security

    if "security" not in given:
        raise pytest.UsageError(f'{", ".join(given)} without security="ssl", "sasl_plaintext" or "sasl_ssl"')
    try:
        return Security(given.pop("security"), **given)
    except ValueError as error:
        raise pytest.UsageError(f"the mark tidelog: {error}") from error

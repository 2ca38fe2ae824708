"""One cluster of three brokers for all tests of this directory, and every client connected to it."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.cluster_under_test import ClusterUnderTest, start_cluster
from tests.interop.waiting import eventually

Connect = Callable[[str], Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterUnderTest]:
    running = start_cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def all_run_again(cluster: ClusterUnderTest) -> Iterator[None]:
    """A test that fails half-way leaves no dead broker to the next one."""
    yield
    cluster.start_missing()


@pytest.fixture(scope="session")
def connect(cluster: ClusterUnderTest) -> Iterator[Connect]:
    """A client by its name, opened once; it knows the addresses of all brokers."""
    opened: dict[str, Any] = {}
    with ExitStack() as stack:

        def connect_one(name: str) -> Any:
            if name not in opened:
                client = CLIENTS[name]
                if client.missing_tool is not None:
                    pytest.skip(client.missing_tool)
                opened[name] = client.driver(cluster.bootstrap)
                stack.callback(opened[name].close)
            return opened[name]

        yield connect_one


@pytest.fixture(scope="session")
def java(connect: Connect) -> Any:
    return connect("java")


@pytest.fixture(scope="session")
def reference(connect: Connect) -> Any:
    """Not librdkafka: its admin client may wait for a dead broker for ever, though it knows others."""
    return connect("java")


@pytest.fixture
def healthy(reference: Any) -> Callable[[str], None]:
    """Waits until every replica of a topic is in sync."""

    def wait(topic: str) -> None:
        def in_sync() -> bool:
            parts = reference.describe_topic(topic).values()
            return all(len(part.isr) == len(part.replicas) and part.leader >= 0 for part in parts)

        eventually(in_sync, 60)

    return wait


@pytest.fixture
def place_topic(java: Any, reference: Any, topic_name: str) -> Iterator[Callable[..., str]]:
    """A topic whose partitions have these replicas, the first of which leads."""
    made: list[str] = []

    def make(*replicas: list[int], **configs: str) -> str:
        name = f"{topic_name}-{len(made)}"
        java.create_assigned(name, replicas)
        made.append(name)
        eventually(lambda: len(reference.describe_topic(name)) == len(replicas))
        return name

    yield make
    for name in made:
        reference.delete_topic(name)


@pytest.fixture
def topic_name() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"

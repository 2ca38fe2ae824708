"""Share groups: every client that can be a member, their groups' settings, and records to share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.shares.clients import SHARE_CLIENTS, able
from tests.interop.shares.jobs import Jobs

OpenJobs = Callable[..., Jobs]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `sharer` runs once for each client with the traits that its `sharers` mark names."""
    if "sharer" in metafunc.fixturenames:
        traits = {
            name: value
            for mark in metafunc.definition.iter_markers("sharers")
            for name, value in mark.kwargs.items()
        }
        metafunc.parametrize("sharer", able(**traits), indirect=True, scope="session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sharers(**traits): run for every share client with these traits")


@pytest.fixture(scope="session")
def open_sharer(broker_address: str, open_client: Callable[[str], Any]) -> Iterator[Callable[[str], Any]]:
    opened: dict[str, Any] = {}
    with ExitStack() as stack:

        def open_one(name: str) -> Any:
            if name in CLIENTS:
                return open_client(name)
            if name not in opened:
                client = SHARE_CLIENTS[name]
                if client.missing_tool is not None:
                    pytest.skip(client.missing_tool)
                opened[name] = client.driver(broker_address)
                stack.callback(opened[name].close)
            return opened[name]

        yield open_one


@pytest.fixture(scope="session")
def sharer(request: pytest.FixtureRequest, open_sharer: Callable[[str], Any]) -> Any:
    return open_sharer(request.param)


@pytest.fixture(scope="session")
def java(open_client: Callable[[str], Any]) -> Any:
    """The client with all the admin calls, and Kafka's tools."""
    return open_client("java")


@pytest.fixture
def open_jobs(java: Any, reference: Any, make_topic: Callable[..., str], group: str) -> Iterator[OpenJobs]:
    """Makes a topic of so many partitions and a share group for it."""
    made: list[Jobs] = []

    def make(partitions: int = 1, **configs: str) -> Jobs:
        made.append(
            Jobs(java, reference, make_topic(partitions, **configs), f"{group}-{len(made)}", partitions)
        )
        return made[-1]

    yield make
    for jobs in made:
        jobs.close()


@pytest.fixture
def jobs(open_jobs: OpenJobs) -> Jobs:
    """A topic of one partition, and a share group that reads it from the start."""
    return open_jobs()

"""Every kept release, unpacked once for all tests of a worker."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.conftest import victim  # noqa: F401  # the fixture
from tests.chaos.process_cluster import ProcessCluster
from tests.releases.release import Release


@pytest.fixture(scope="session")
def source_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Release], Path]:
    directory = tmp_path_factory.mktemp("releases")
    return lambda release: release.source(directory)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Three brokers that are not started yet."""
    settings = {
        # A busy machine pauses brokers: none is taken for dead here.
        "broker.session.timeout.ms": 20_000,
        "controller.quorum.election.timeout.ms": 3_000,
        "shutdown.grace.ms": 20_000,
        "group.initial.rebalance.delay.ms": 0,
        "log.dirs.min.free.bytes": None,  # not known to 0.1.0
        "group.min.session.timeout.ms": 1000,
    }
    made = ProcessCluster(tmp_path_factory.mktemp("upgrade"), settings=settings)
    yield made
    made.end()

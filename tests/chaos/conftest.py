"""Fixtures of the chaos tests: `tidelog up` in processes of its own, which are killed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.victim import Victim


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Callable[..., Victim]]:
    """Make a broker process (not started yet) on a directory of its own."""
    made: list[Victim] = []

    def make(**settings: object) -> Victim:
        made.append(Victim(tmp_path / f"broker-{len(made)}", settings))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., ProcessCluster]]:
    """Make a cluster of processes (not started yet); underscores in the names of settings stand for dots."""
    made: list[ProcessCluster] = []

    def make(**settings: object) -> ProcessCluster:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        made.append(ProcessCluster(tmp_path / f"cluster-{len(made)}", settings=given))
        return made[-1]

    yield make
    for each in made:
        each.end()

"""Whose data a broker has, and whom its settings name: they must not be two clusters."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from tidelog.base.config import load
from tidelog.base.errors import StorageError
from tidelog.broker.cluster_start import check_company

THREE = "1@a:9092,2@b:9092,3@c:9092"


def check(named: str, voters: Sequence[int], brokers: Sequence[int], node_id: int = 3) -> None:
    flags = {"node.id": str(node_id), **({"controller.quorum.voters": named} if named else {})}
    raft = SimpleNamespace(configuration=SimpleNamespace(voters=[SimpleNamespace(id=id) for id in voters]))
    image = SimpleNamespace(cluster_id="theirs", brokers=dict.fromkeys(brokers))
    check_company(load(None, {}, flags), raft, image)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("named", "voters", "brokers"),
    [
        ("", [3], [3]),  # a cluster of one
        ("3@c:9092", [3], [3]),  # which says so
        (THREE, [1, 2, 3], []),  # a new cluster of three
        (THREE, [1, 2, 3], [1, 2, 3]),
        (THREE, [1, 2, 4], [1, 2, 3, 4]),  # voters have been changed since
        (THREE, [3], [1, 2, 3]),  # all others have given their votes back
    ],
)
def test_data_and_settings_agree(named: str, voters: list[int], brokers: list[int]) -> None:
    check(named, voters, brokers)


@pytest.mark.parametrize("node_id", [3, 4])
def test_data_of_a_broker_that_was_alone_are_refused_among_others(node_id: int) -> None:
    with pytest.raises(StorageError, match=r"another cluster .* broker . is alone.*empty data folder"):
        check(THREE, [node_id], [node_id], node_id)

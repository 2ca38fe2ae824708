"""Questions to a coordinator that is not ready yet are asked again, each group on its own."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from tidelog.cli.group.calls import ask_groups
from tidelog.cli.session import Session

LOADING = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
MISSING = KafkaError(KafkaError.GROUP_ID_NOT_FOUND)


class Scripted:
    """Stands where the cluster is: each call gets the next of its prepared answers."""

    def __init__(self, *turns: dict[str, Any], timeout_s: float = 10) -> None:
        self.session = Session(timeout_s=timeout_s)
        self.turns: Iterator[dict[str, Any]] = iter(turns)
        self.asked: list[list[str]] = []
        self.time = 0.0

    def ask(self, _call: object, names: list[str]) -> dict[str, Any]:
        self.asked.append(names)
        turn = next(self.turns)
        assert turn.keys() == set(names)
        return turn

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def answers(cluster: Scripted, *names: str) -> dict[str, Any]:
    return ask_groups(
        cluster,  # type: ignore[arg-type]
        lambda names: {},
        names,
        now=lambda: cluster.time,
        sleep=cluster.sleep,
    )


def test_only_what_was_not_ready_is_asked_again() -> None:
    cluster = Scripted({"a": "done", "b": LOADING, "c": MISSING}, {"b": LOADING}, {"b": "done"})
    assert answers(cluster, "a", "b", "c", "a") == {"a": "done", "b": "done", "c": MISSING}
    assert cluster.asked == [["a", "b", "c"], ["b"], ["b"]]


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
def test_patience_ends(code: int) -> None:
    error = KafkaError(code)
    cluster = Scripted(*({"a": error} for _ in range(50)), timeout_s=1)
    assert answers(cluster, "a") == {"a": error}
    assert 1 <= cluster.time < 1.2


def test_no_names_ask_nobody() -> None:
    assert answers(Scripted()) == {}

"""How far moves are, from the sizes of the replicas that are being filled."""

from collections.abc import Iterator
from typing import Any

import pytest

from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import Ongoing
from tidelog.cli.reassign.progress import PATIENCE_S, Standing, Tracker, standing
from tidelog.clients.records import TopicPartition

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


def moving(place: TopicPartition) -> Ongoing:
    return Ongoing(place, (1, 3), (3,), (1,))


def test_bytes_and_partitions_are_counted() -> None:
    stored = {1: Stored({HERE: 100, THERE: 50}), 3: Stored({HERE: 40, THERE: 50})}
    found = standing({HERE: (3,), THERE: (3,)}, {HERE: moving(HERE)}, stored, dead=[])
    assert found == Standing(partitions=2, partitions_done=1, bytes_total=150, bytes_done=90)
    assert not found.finished
    assert found.text() == "1 of 2 partitions, 90 B of 150 B"


def test_a_replica_that_is_not_there_yet_counts_nothing() -> None:
    found = standing({HERE: (3, 4)}, {HERE: moving(HERE)}, {1: Stored({HERE: 100})}, dead=[4])
    assert (found.bytes_total, found.bytes_done, found.waiting_for) == (200, 0, (4,))
    assert found.text() == "0 of 1 partitions, 0 B of 200 B; waiting for 4, not alive"


def test_nothing_to_copy_is_counted_in_partitions() -> None:
    assert standing({HERE: ()}, {}, {}, dead=[]) == Standing(1, 1, 0, 0)


class Turns(Tracker):
    """Gives prepared answers in place of looks."""

    def __init__(self, answers: list[Any], clock: Iterator[float]) -> None:
        super().__init__(None, {}, now=lambda: next(clock), sleep=lambda _: None)  # type: ignore[arg-type]
        self._answers = iter(answers)

    def look(self) -> Standing:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Standing)
        return answer


def test_it_is_followed_to_the_end_while_brokers_restart() -> None:
    away = CliError("away", code=Exit.UNREACHABLE)
    shown: list[Standing] = []
    turns = Turns([Standing(2, 0, 0, 0), away, Standing(2, 2, 0, 0)], iter(range(100)))
    assert turns.follow(shown.append).finished
    assert [found.partitions_done for found in shown] == [0, 2]


def test_brokers_that_stay_away_are_an_error() -> None:
    away = CliError("away", code=Exit.UNREACHABLE)
    with pytest.raises(CliError, match="away"):
        Turns([away] * 3, iter([0, 1, PATIENCE_S + 2, 0])).follow(lambda _: None)
    with pytest.raises(CliError, match="refused"):
        Turns([CliError("refused", code=Exit.REFUSED)], iter(range(9))).follow(lambda _: None)

"""How much a micro-batch takes and which task reads what."""

import pytest

from tidelog.blocking.cluster import TopicPartition
from tidelog.spark.source.planning import OffsetRange, limited, planned


def place(index: int) -> TopicPartition:
    return TopicPartition("t", index)


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(place(index), 100, 100 + size) for index, size in enumerate(sizes)]


def sizes(tasks: list[list[OffsetRange]]) -> list[list[int]]:
    return [[each.size for each in task] for task in tasks]


def test_a_limit_is_shared_in_proportion() -> None:
    ends = limited({place(0): 0, place(1): 50}, {place(0): 900, place(1): 150}, 100)
    assert ends == {place(0): 90, place(1): 60}


def test_a_quiet_partition_moves_on_too() -> None:
    assert limited({place(0): 0, place(1): 0}, {place(0): 100_000, place(1): 2}, 10)[place(1)] == 1


def test_a_limit_above_what_there_is_changes_nothing() -> None:
    assert limited({place(0): 0}, {place(0): 9}, 10) == {place(0): 9}


def test_a_log_that_was_cut_takes_no_share() -> None:
    assert limited({place(0): 50, place(1): 0}, {place(0): 20, place(1): 100}, 10) == {
        place(0): 20,
        place(1): 10,
    }


def test_small_ranges_share_a_task() -> None:
    tasks = planned(ranges(30, 30, 50, 10, 0), tasks_min=None, task_rows_max=None, task_rows_min=100)
    assert sizes(tasks) == [[30, 30], [50, 10]]


def test_without_packing_each_range_has_its_task() -> None:
    assert len(planned(ranges(1, 1, 1), tasks_min=None, task_rows_max=None, task_rows_min=0)) == 3


def test_packing_leaves_as_many_tasks_as_were_asked_for() -> None:
    assert len(planned(ranges(1, 1, 1, 1), tasks_min=3, task_rows_max=None, task_rows_min=100)) == 3


@pytest.mark.parametrize(
    ("counts", "tasks_min", "expected"),
    [
        ((1000,), 4, [250, 250, 250, 250]),
        ((900, 100), 4, [300, 300, 300, 100]),  # the small one stays whole, the rest is shared
        ((2,), 5, [1, 1]),
        ((), 3, []),
    ],
)
def test_large_ranges_are_split(counts: tuple[int, ...], tasks_min: int, expected: list[int]) -> None:
    tasks = planned(ranges(*counts), tasks_min=tasks_min, task_rows_max=None, task_rows_min=0)
    assert [each.size for task in tasks for each in task] == expected


def test_no_task_reads_more_than_its_limit() -> None:
    assert sizes(planned(ranges(250), tasks_min=None, task_rows_max=100, task_rows_min=0)) == [
        [83],
        [83],
        [84],
    ]

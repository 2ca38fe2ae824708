"""Whatever sizes partitions have: tasks cover every offset once, and limits are kept."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.blocking.cluster import TopicPartition
from tidelog.spark.source.planning import OffsetRange, limited, planned

SIZES = st.lists(st.integers(0, 2_000), max_size=8)


def place(index: int) -> TopicPartition:
    return TopicPartition("t", index)


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(place(index), 100, 100 + size) for index, size in enumerate(sizes)]


@settings(max_examples=60)
@given(SIZES, st.integers(1, 2_000))
def test_a_limit_is_kept_but_for_one_offset_each(counts: list[int], most: int) -> None:
    begins = {place(index): 7 for index in range(len(counts))}
    ends = {place(index): 7 + count for index, count in enumerate(counts)}
    chosen = limited(begins, ends, most)
    assert all(7 <= chosen[each] <= ends[each] for each in ends)
    assert sum(chosen[each] - 7 for each in ends) <= most + len(counts)
    # Some progress, always: else a query would stand still.
    assert any(counts) == any(chosen[each] > 7 for each in ends)


@settings(max_examples=60)
@given(SIZES, st.none() | st.integers(1, 20), st.none() | st.integers(20, 900), st.integers(0, 4_000))
def test_tasks_cover_every_offset_once(
    counts: list[int], tasks_min: int | None, task_rows_max: int | None, task_rows_min: int
) -> None:
    tasks = planned(
        ranges(*counts), tasks_min=tasks_min, task_rows_max=task_rows_max, task_rows_min=task_rows_min
    )
    covered: dict[TopicPartition, int] = {}
    for each in (each for task in tasks for each in task):
        assert each.size > 0
        assert each.start == covered.get(each.partition, 100), "a gap, or an overlap"
        covered[each.partition] = each.end
    assert covered == {place(index): 100 + count for index, count in enumerate(counts) if count}
    if task_rows_max is not None:
        assert all(sum(each.size for each in task) <= task_rows_max for task in tasks)

"""From offsets to tasks: how much a micro-batch takes, and which ranges each task reads. Pure.

Rates and splits follow Spark's own Kafka source. Beyond it, small ranges are packed into one task: a Python
task costs 50 ms however little it reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

from tidelog.blocking.cluster import NO_ID, TopicPartition


@dataclass(frozen=True)
class OffsetRange:
    partition: TopicPartition
    start: int
    end: int
    """Exclusive."""
    topic_id: bytes = NO_ID

    @property
    def size(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.partition} [{self.start}, {self.end})"


def limited(
    begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], rows_max: int
) -> dict[TopicPartition, int]:
    """Ends that take about `rows_max` offsets, from each partition in proportion to what it has."""
    sizes = {partition: end - begins.get(partition, end) for partition, end in ends.items()}
    total = sum(size for size in sizes.values() if size > 0)
    if total <= rows_max:
        return dict(ends)
    return {
        partition: begins[partition] + _share(sizes[partition], rows_max, total)
        if sizes[partition] > 0
        else end
        for partition, end in ends.items()
    }


def _share(size: int, rows_max: int, total: int) -> int:
    """Rounded down, but never to nothing: a quiet partition moves on too."""
    return min(size, max(1, size * rows_max // total))


def planned(
    ranges: Iterable[OffsetRange], *, tasks_min: int | None, task_rows_max: int | None, task_rows_min: int
) -> list[list[OffsetRange]]:
    """The ranges of each task. Empty ranges have none."""
    wanted = [each for each in ranges if each.size > 0]
    if task_rows_max is not None:
        wanted = [part for each in wanted for part in _split(each, ceil(each.size / task_rows_max))]
    if tasks_min is not None and len(wanted) < tasks_min:
        return [[part] for part in _split_in_proportion(wanted, tasks_min)]
    return _packed(wanted, min(task_rows_min, task_rows_max or task_rows_min), tasks_min or 1)


def _split_in_proportion(ranges: Sequence[OffsetRange], tasks_min: int) -> list[OffsetRange]:
    """About `tasks_min` parts. Ranges too small to be split don't count when the others share the rest."""
    total = sum(each.size for each in ranges)
    whole = {each for each in ranges if _parts(each.size, total, tasks_min) == 1}
    rest = total - sum(each.size for each in whole)
    tasks = max(tasks_min - len(whole), 1)
    return [
        part
        for each in ranges
        for part in ([each] if each in whole else _split(each, _parts(each.size, rest, tasks)))
    ]


def _parts(size: int, total: int, tasks: int) -> int:
    return max(1, int(size / total * tasks + 0.5)) if total else 1


def _split(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """In parts of nearly the same size, none of them empty."""
    parts = max(1, min(parts, whole.size))
    edges = [whole.start + whole.size * part // parts for part in range(parts + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]


def _packed(ranges: Sequence[OffsetRange], rows: int, tasks_min: int) -> list[list[OffsetRange]]:
    """Neighbours share a task while they have no more than `rows` together, if enough tasks remain."""
    tasks: list[list[OffsetRange]] = []
    taken = 0
    for index, each in enumerate(ranges):
        must_part = len(tasks) + len(ranges) - index <= tasks_min
        if tasks and taken + each.size <= rows and not must_part:
            tasks[-1].append(each)
            taken += each.size
        else:
            tasks.append([each])
            taken = each.size
    return tasks

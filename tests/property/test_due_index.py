"""The index of due times against a sorted list, with so little memory that most of it lies in files."""

import errno

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.shares.schedule.due_times import Due
from tidelog.shares.schedule.entries import COUNT_MAX
from tidelog.shares.schedule.index import DueIndex
from tidelog.shares.schedule.memory import ScheduleMemory
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

DIRECTORY = "/data/jobs-0"
NOW = 1_800_000_000_000

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(1, 500), min_size=1, max_size=40)),
        st.tuples(st.just("pop"), st.integers(0, 60)),
        st.tuples(st.just("some"), st.integers(1, 9)),
        st.tuples(st.just("back"), st.integers(1, 30)),
    ),
    max_size=60,
)


class Model:
    """Share partitions as the index sees them: scheduled offsets with their times, and a clock."""

    def __init__(self, memory_bytes: int) -> None:
        self.disk = MemoryDisk()
        self.disk.make_dirs(DIRECTORY)
        self.memory = ScheduleMemory(memory_bytes)
        self.index = DueIndex(self.disk, lambda: DIRECTORY, self.memory, heap_max=8, garbage_bytes_min=256)
        self.now = NOW
        self.batches: list[list[Due]] = []
        self.end = 0
        self.held: dict[int, int] = {}
        """Offset to time: the bits of a share partition."""
        self.forgot = 0

    def append(self, waits: list[int]) -> None:
        batch = []
        for wait in waits:
            batch.append(Due(self.now + wait, self.end, self.end))
            self.end += 1
        self.batches.append(batch)
        self.read(batch)

    def read(self, batch: list[Due]) -> None:
        """What reading does: the record decides, the index is only there to come again."""
        later = [due for due in batch if due.due_ms > self.now]
        self.held.update((due.first, due.due_ms) for due in later)
        self.index.add(batch[0].first, batch[-1].last, later, self.now)

    def pop(self, count_max: int = 1000) -> None:
        popped = self.index.pop(self.now, count_max)
        if popped.is_all:
            self.forgot += 1
            assert not self.index
            self.held.clear()
            for batch in self.batches:
                self.read(batch)
            return
        assert all(due.due_ms <= self.now for due in popped.ranges)
        for due in popped.ranges:
            self.held.pop(due.first, None)

    def pop_all(self) -> None:
        while (next_ms := self.index.next_ms) is not None and next_ms <= self.now:
            self.pop()

    def check(self) -> None:
        assert self.memory.used_bytes <= self.memory.bytes_max
        next_ms = self.index.next_ms
        if self.held:
            assert next_ms is not None
            assert next_ms <= max(self.now, min(self.held.values()))

    def check_popped(self) -> None:
        assert all(due_ms > self.now for due_ms in self.held.values()), "a record is overdue"


def run(model: Model, operations: list[tuple[str, list[int] | int]]) -> None:
    for name, value in operations:
        match name, value:
            case "add", list():
                model.append(value)
            case "pop", int():
                model.now += value
                model.pop_all()
                model.check_popped()
            case "some", int():
                model.pop(value)
            case "back", int():
                model.now -= value
                for batch in model.batches:  # another group, at the start of the log
                    model.read(batch)
        model.check()
    model.now += 1000
    model.pop_all()
    assert not model.held
    assert not model.index
    assert model.index.next_ms is None
    assert model.memory.used_bytes == 0
    assert model.index.file_bytes == 0
    assert model.disk.names(DIRECTORY) == []


@settings(max_examples=300, deadline=None)
@given(OPERATIONS, st.integers(128, 2000))
def test_the_index_is_a_sorted_list(operations: list[tuple[str, list[int] | int]], memory_bytes: int) -> None:
    model = Model(memory_bytes)
    run(model, operations)
    assert model.forgot == 0


@settings(max_examples=300, deadline=None)
@given(
    OPERATIONS,
    st.integers(128, 1000),
    st.sampled_from(["write", "read", "open", "create", "remove", "*"]),
    st.integers(1, 30),
)
def test_a_disk_that_fails_makes_no_record_early_and_loses_none(
    operations: list[tuple[str, list[int] | int]], memory_bytes: int, operation: str, number: int
) -> None:
    model = Model(memory_bytes)
    model.disk.fail(operation, DIRECTORY, number=number, error=errno.EIO)
    half = len(operations) // 2
    for name, value in operations[:half]:
        if name == "add" and isinstance(value, list):
            model.append(value)
        elif name == "pop" and isinstance(value, int):
            model.now += value
            model.pop_all()
            model.check_popped()
        model.check()
    model.disk.heal()
    run_after = operations[half:]
    model.now += 100_000
    model.pop_all()
    for name in model.disk.names(DIRECTORY):  # a name that could not be removed goes when the log is opened
        model.disk.remove(f"{DIRECTORY}/{name}")
    run(model, run_after)


def test_a_long_range_is_several_entries() -> None:
    model = Model(1000)
    last = 3 * COUNT_MAX + 5
    model.index.add(0, last, [Due(NOW + 1, 0, last)], NOW)
    assert len(model.index) == 4
    ranges = sorted(model.index.pop(NOW + 1, 100).ranges, key=lambda due: due.first)
    assert [due.first for due in ranges] == [0, COUNT_MAX, 2 * COUNT_MAX, 3 * COUNT_MAX]
    assert [due.last + 1 for due in ranges] == [COUNT_MAX, 2 * COUNT_MAX, 3 * COUNT_MAX, last + 1]

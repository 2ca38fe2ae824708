"""Who has how much while tasks are handed out: processes by the tasks per member, members by their tasks."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace

from tidelog.groups.record_formats.tasks import Role

TaskId = tuple[str, int]
"""Subtopology and partition."""


class Process:
    """One instance of the application, with a member for each of its threads. They share its disk."""

    __slots__ = ("_by_load", "_loads", "count", "id", "members", "tasks")

    def __init__(self, process_id: str) -> None:
        self.id = process_id
        self.members: dict[str, dict[Role, set[TaskId]]] = {}
        self.tasks: set[TaskId] = set()
        """In whatever role: the same state twice on one disk is of no use."""
        self.count = 0
        self._loads: dict[str, int] = {}
        self._by_load: list[tuple[int, str]] = []  # a heap; an entry may say less than the member has by now

    def add_member(self, member_id: str) -> None:
        self.members[member_id] = {Role.ACTIVE: set(), Role.STANDBY: set()}
        self._loads[member_id] = 0
        heappush(self._by_load, (0, member_id))

    @property
    def load(self) -> float:
        return self.count / len(self.members)

    def load_of(self, member_id: str) -> int:
        return self._loads[member_id]

    def give(self, member_id: str, role: Role, task: TaskId) -> int:
        """How many tasks the member has then."""
        self.members[member_id][role].add(task)
        self.tasks.add(task)
        self.count += 1
        self._loads[member_id] += 1
        return self._loads[member_id]

    def give_least_loaded(self, role: Role, task: TaskId) -> int:
        while (has := self._loads[self._by_load[0][1]]) > self._by_load[0][0]:
            heapreplace(self._by_load, (has, self._by_load[0][1]))
        return self.give(self._by_load[0][1], role, task)


class Quota:
    """The most that a member may have if all shall have the same, of what is still to be handed out.

    Every member that reached it leaves the rest to the others, which can make their share smaller by one.
    """

    __slots__ = ("_members", "_tasks", "each")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.each = 0
        self._divide()

    def reached(self, has: int) -> None:
        if has == self.each:
            self._members -= 1
            self._tasks -= has
            self._divide()

    def _divide(self) -> None:
        self.each = -(-self._tasks // self._members) if self._members else 0


class LeastLoaded:
    """Processes by their load; ties go to the one that comes first by name."""

    __slots__ = ("_heap",)

    def __init__(self, processes: Iterable[Process]) -> None:
        self._heap = [(process.load, process.id, process) for process in processes]
        heapify(self._heap)

    def give(self, role: Role, task: TaskId) -> int | None:
        """How many tasks the member has then; None where every process has the task in some role."""
        looked_at: list[tuple[float, str, Process]] = []
        has = None
        while self._heap and has is None:
            load, name, process = heappop(self._heap)
            if task not in process.tasks:
                has = process.give_least_loaded(role, task)
                load = process.load
            looked_at.append((load, name, process))
        for entry in looked_at:
            heappush(self._heap, entry)
        return has

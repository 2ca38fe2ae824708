"""The sticky assignor: tasks stay where they are, move to where their state is, and are spread evenly.

Active tasks first: to the member that had them, then to one that had them as a standby, then to the process
with the least to do, each as long as the member has less than its share. Then standbys in the same way, never
two of a task on one process. Where that spreads the tasks no better than they are, all of them stay. There
are no warm-up tasks: as in Kafka 4.3, a task that moves does so at once.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.groups.record_formats.tasks import Duty, Role, Tasks
from tidelog.groups.streams.loads import LeastLoaded, Process, Quota, TaskId
from tidelog.groups.streams.spread import is_as_good


class Workload(NamedTuple):
    """What one subtopology has to hand out."""

    tasks: int
    is_stateful: bool


class Worker(NamedTuple):
    process_id: str
    target: Tasks
    """What the last target assignment gave it."""


class _Place(NamedTuple):
    process: Process
    member_id: str


def assign(
    workloads: Mapping[str, Workload], workers: Mapping[str, Worker], standby_replicas: int
) -> dict[str, Tasks]:
    """For every member. Each task is active on exactly one of them, if there is any."""
    if not workers:
        return {}
    run = _Run(workloads, workers, standby_replicas)
    run.assign_active()
    if standby_replicas:
        run.assign_standby()
    targets = {
        member_id: _grouped(roles)
        for process in run.processes.values()
        for member_id, roles in process.members.items()
    }
    before = {member_id: workers[member_id].target for member_id in targets}
    process_of = {member_id: worker.process_id for member_id, worker in workers.items()}
    return before if is_as_good(before, targets, process_of) else targets


class _Run:
    def __init__(
        self, workloads: Mapping[str, Workload], workers: Mapping[str, Worker], standby_replicas: int
    ) -> None:
        self._workloads = workloads
        self._replicas = standby_replicas
        active = sum(load.tasks for load in workloads.values())
        stateful = sum(load.tasks for load in workloads.values() if load.is_stateful)
        self._active_quota = Quota(active, len(workers))
        self._quota = Quota(active + stateful * standby_replicas, len(workers))
        self.processes: dict[str, Process] = {}
        self._had_active: dict[TaskId, _Place] = {}
        self._had_standby: dict[TaskId, list[_Place]] = {}
        for member_id, worker in sorted(workers.items()):
            process = self.processes.setdefault(worker.process_id, Process(worker.process_id))
            process.add_member(member_id)
            self._remember(_Place(process, member_id), worker.target)

    def _remember(self, place: _Place, target: Tasks) -> None:
        for duty, partitions in target.items():
            for number in partitions:
                task = duty.subtopology_id, number
                if duty.role is Role.ACTIVE:
                    self._had_active[task] = place
                else:
                    self._had_standby.setdefault(task, []).append(place)

    def assign_active(self) -> None:
        # Partitions of one number together first, as a range-like assignment paired them.
        tasks = sorted(self._all_tasks(stateful_only=False), key=lambda task: (task[1], task[0]))
        tasks = [task for task in tasks if not self._give_active(self._had_active.get(task), task)]
        tasks = [task for task in tasks if not self._give_active(self._former_standby(task), task)]
        queue = LeastLoaded(self.processes.values())
        for task in sorted(tasks):
            self._took_active(queue.give(Role.ACTIVE, task))

    def _give_active(self, place: _Place | None, task: TaskId) -> bool:
        if place is None or place.process.load_of(place.member_id) >= self._active_quota.each:
            return False
        self._took_active(place.process.give(place.member_id, Role.ACTIVE, task))
        return True

    def _took_active(self, has: int | None) -> None:
        if has is not None:
            self._active_quota.reached(has)
            self._quota.reached(has)

    def assign_standby(self) -> None:
        left: list[tuple[TaskId, int]] = []
        by_number = sorted(self._all_tasks(stateful_only=True), key=lambda task: (task[1], task[0]))
        for task in reversed(by_number):
            given = 0
            while given < self._replicas and self._give_standby(task):
                given += 1
            if given < self._replicas:
                left.append((task, self._replicas - given))
        queue = LeastLoaded(self.processes.values())
        for task, wanted in sorted(left, reverse=True):
            for _ in range(wanted):
                has = queue.give(Role.STANDBY, task)
                if has is None:
                    break  # there are fewer processes than copies wanted
                self._quota.reached(has)

    def _give_standby(self, task: TaskId) -> bool:
        """To one that has its state: the member that ran it, else one that was a standby of it."""
        for place in (self._had_active.get(task), self._former_standby(task)):
            if (
                place is not None
                and task not in place.process.tasks
                and place.process.load_of(place.member_id) < self._quota.each
            ):
                self._quota.reached(place.process.give(place.member_id, Role.STANDBY, task))
                return True
        return False

    def _former_standby(self, task: TaskId) -> _Place | None:
        """The one with the least to do, of those whose process does not have the task by now."""
        places = [place for place in self._had_standby.get(task, ()) if task not in place.process.tasks]
        return min(places, key=lambda place: (place.process.load, _load(place)), default=None)

    def _all_tasks(self, *, stateful_only: bool) -> list[TaskId]:
        return [
            (subtopology_id, number)
            for subtopology_id, load in self._workloads.items()
            if load.is_stateful or not stateful_only
            for number in range(load.tasks)
        ]


def _load(place: _Place) -> int:
    return place.process.load_of(place.member_id)


def _grouped(roles: Mapping[Role, set[TaskId]]) -> Tasks:
    by_duty: dict[Duty, set[int]] = {}
    for role, tasks in roles.items():
        for subtopology_id, number in tasks:
            by_duty.setdefault(Duty(role, subtopology_id), set()).add(number)
    return {duty: frozenset(numbers) for duty, numbers in by_duty.items()}

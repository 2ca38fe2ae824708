"""The sticky assignor of streams groups against what must hold, whatever it is given."""

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidelog.groups.record_formats.tasks import Role
from tidelog.groups.streams.sticky import Worker, Workload, assign

WORKLOADS = st.dictionaries(
    st.sampled_from("abc"), st.builds(Workload, st.integers(1, 7), st.booleans()), min_size=1
)
PROCESSES = st.lists(st.integers(1, 3), min_size=1, max_size=5)
"""How many members each has."""


def workers_of(sizes, targets=None):
    return {
        f"m{process}-{member}": Worker(f"p{process}", (targets or {}).get(f"m{process}-{member}", {}))
        for process, size in enumerate(sizes)
        for member in range(size)
    }


def tasks_of(target, role):
    return [
        (duty.subtopology_id, number)
        for duty, numbers in target.items()
        if duty.role is role
        for number in numbers
    ]


def check(workloads, workers, replicas, targets):
    assert targets.keys() == workers.keys()
    tasks = [(name, number) for name, load in workloads.items() for number in range(load.tasks)]
    active = [task for target in targets.values() for task in tasks_of(target, Role.ACTIVE)]
    assert sorted(active) == sorted(tasks)
    share = -(-len(tasks) // len(workers))
    assert max(len(tasks_of(target, Role.ACTIVE)) for target in targets.values()) <= share
    roles = Counter(
        (workers[member_id].process_id, task)
        for member_id, target in targets.items()
        for role in Role
        for task in tasks_of(target, role)
    )
    assert set(roles.values()) <= {1}, "a task has two roles on one process"
    copies = Counter(task for target in targets.values() for task in tasks_of(target, Role.STANDBY))
    processes = len({worker.process_id for worker in workers.values()})
    wanted = min(replicas, processes - 1)
    for name, number in tasks:
        assert copies[name, number] == (wanted if workloads[name].is_stateful else 0)


def loads_squared(targets):
    return sum(sum(len(tasks_of(target, role)) for role in Role) ** 2 for target in targets.values())


@settings(max_examples=200)
@example(  # standbys of 'a' once changed places for nothing
    {"a": Workload(4, True), "b": Workload(1, True), "c": Workload(7, True)},
    [1, 1, 1, 2],
    [1],
    2,
    {"a": Workload(1, False)},
)
@given(WORKLOADS, PROCESSES, PROCESSES, st.integers(0, 2), WORKLOADS)
def test_every_task_is_active_once_and_shared_evenly(workloads, before, after, replicas, other):
    workers = workers_of(before)
    first = assign(workloads, workers, replicas)
    check(workloads, workers, replicas, first)
    second = assign(workloads, workers_of(before, first), replicas)
    check(workloads, workers, replicas, second)
    assert second == first or loads_squared(second) < loads_squared(first), "tasks move and nothing is gained"
    later = workers_of(after, first)
    check(workloads, later, replicas, assign(workloads, later, replicas))
    check(other, later, replicas, assign(other, later, replicas))


@settings(max_examples=100)
@given(WORKLOADS, st.integers(1, 5))
def test_whoever_stays_keeps_its_active_tasks_when_another_goes(workloads, count):
    first = assign(workloads, workers_of([1] * (count + 1)), 0)
    left = workers_of([1] * count, first)
    second = assign(workloads, left, 0)
    for member_id in left:
        assert set(tasks_of(first[member_id], Role.ACTIVE)) <= set(tasks_of(second[member_id], Role.ACTIVE))


@settings(max_examples=100)
@given(st.integers(1, 8), st.integers(2, 5))
def test_a_task_moves_to_where_its_state_is(tasks, count):
    workloads = {"a": Workload(tasks, True)}
    first = assign(workloads, workers_of([1] * count), count - 1)  # everybody has the state of everything
    gone, *rest = sorted(first)
    left = {member_id: Worker(member_id, first[member_id]) for member_id in rest}
    for member_id, target in assign(workloads, left, count - 1).items():
        had = {task for role in Role for task in tasks_of(first[member_id], role)}
        assert set(tasks_of(target, Role.ACTIVE)) <= had, f"{gone} left tasks to {member_id} without state"

"""When members keep the tasks that they have."""

from tidelog.groups.record_formats.tasks import Duty, Role
from tidelog.groups.streams.spread import is_as_good

ACTIVE, STANDBY = Duty(Role.ACTIVE, "a"), Duty(Role.STANDBY, "a")
PROCESS_OF = {"m1": "p1", "m2": "p2", "m3": "p2"}


def target(active=(), standby=()):
    return {duty: frozenset(tasks) for duty, tasks in ((ACTIVE, active), (STANDBY, standby)) if tasks}


def test_tasks_stay_where_others_would_only_change_places() -> None:
    before = {"m1": target([0]), "m2": target([1]), "m3": target()}
    after = {"m1": target([1]), "m2": target(), "m3": target([0])}
    assert is_as_good(before, after, PROCESS_OF)


def test_a_more_even_assignment_is_worth_its_moves() -> None:
    before = {"m1": target([0, 1]), "m2": target([2]), "m3": target()}
    after = {"m1": target([0]), "m2": target([2]), "m3": target([1])}
    assert not is_as_good(before, after, PROCESS_OF)


def test_standbys_count_as_load() -> None:
    before = {"m1": target([0], [1]), "m2": target([1]), "m3": target()}
    after = {"m1": target([0]), "m2": target([1]), "m3": target([], [1])}
    assert not is_as_good(before, after, PROCESS_OF)


def test_what_is_missing_or_gone_is_no_assignment() -> None:
    after = {"m1": target([0]), "m2": target([1]), "m3": target()}
    assert not is_as_good({"m1": target([0]), "m2": target(), "m3": target()}, after, PROCESS_OF)
    assert not is_as_good({"m1": target([0]), "m2": target([1, 2]), "m3": target()}, after, PROCESS_OF)


def test_a_task_twice_on_one_process_does_not_stay() -> None:
    before = {"m1": target(), "m2": target([0]), "m3": target([], [0])}
    after = {"m1": target([], [0]), "m2": target([0]), "m3": target()}
    assert not is_as_good(before, after, PROCESS_OF)

"""What a reset would do to each partition."""

import pytest

from tidelog.cli.group.plan import (
    NOTHING_COMMITTED,
    PARTITION_GONE,
    Standing,
    Step,
    changes,
    plan_offsets,
    plan_target,
)
from tidelog.cli.group.target import Goal, Target
from tidelog.cli.records.spans import Bounds
from tidelog.clients.records import TopicPartition

PLACE = TopicPartition("orders", 0)
BOUNDS = Bounds(100, 200)


def planned(target: Target, committed: int | None = 150, by_time: int | None = None) -> Step:
    [step] = plan_target([Standing(PLACE, committed, BOUNDS, by_time)], target)
    return step


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (Target(Goal.EARLIEST), 100),
        (Target(Goal.LATEST), 200),
        (Target(Goal.CURRENT), 150),
        (Target(Goal.OFFSET, 120), 120),
        (Target(Goal.OFFSET, 200), 200),
        (Target(Goal.SHIFT, 10), 160),
        (Target(Goal.SHIFT, -10), 140),
        (Target(Goal.SHIFT, 0), 150),
    ],
)
def test_targets(target: Target, offset: int) -> None:
    assert planned(target) == Step(PLACE, 150, BOUNDS, offset, None)


def test_a_time_means_the_first_record_from_then_on_or_the_end() -> None:
    assert planned(Target(Goal.TIME, 1), by_time=130).offset == 130
    assert planned(Target(Goal.TIME, 1), by_time=None).offset == 200


@pytest.mark.parametrize(
    ("target", "offset", "note"),
    [
        (Target(Goal.OFFSET, 99), 100, "99 is before the start"),
        (Target(Goal.OFFSET, 201), 200, "201 is after the end"),
        (Target(Goal.SHIFT, -1000), 100, "-850 is before the start"),
        (Target(Goal.SHIFT, 51), 200, "201 is after the end"),
    ],
)
def test_an_offset_never_leaves_the_log(target: Target, offset: int, note: str) -> None:
    step = planned(target)
    assert (step.offset, step.note) == (offset, note)


def test_what_expired_under_the_group_moves_to_the_start() -> None:
    assert planned(Target(Goal.CURRENT), committed=7).offset == 100


@pytest.mark.parametrize("goal", [Goal.CURRENT, Goal.SHIFT])
def test_without_a_commit_there_is_nothing_to_go_from(goal: Goal) -> None:
    step = planned(Target(goal, 1), committed=None)
    assert (step.offset, step.note, step.lag) == (None, NOTHING_COMMITTED, None)
    assert changes([step]) == {}


@pytest.mark.parametrize("goal", [Goal.EARLIEST, Goal.LATEST, Goal.TIME, Goal.OFFSET])
def test_the_other_targets_need_no_commit(goal: Goal) -> None:
    assert planned(Target(goal, 100), committed=None).offset is not None


@pytest.mark.parametrize("goal", list(Goal))
def test_a_partition_that_is_gone_is_left_alone(goal: Goal) -> None:
    [step] = plan_target([Standing(PLACE, 5, None)], Target(goal))
    assert step == Step(PLACE, 5, None, None, PARTITION_GONE)


def test_a_file_gives_each_partition_its_own_offset() -> None:
    other, gone = TopicPartition("orders", 1), TopicPartition("taps", 0)
    standings = [Standing(PLACE, 150, BOUNDS), Standing(other, None, BOUNDS), Standing(gone, None, None)]
    steps = plan_offsets(standings, {PLACE: 110, other: 300, gone: 1})
    assert changes(steps) == {PLACE: 110, other: 200}
    assert [step.note for step in steps] == [None, "300 is after the end", PARTITION_GONE]


def test_the_json_of_a_step() -> None:
    assert planned(Target(Goal.SHIFT, -10)).as_json() == {
        "topic": "orders",
        "partition": 0,
        "start_offset": 100,
        "end_offset": 200,
        "current_offset": 150,
        "new_offset": 140,
        "new_lag": 60,
        "note": None,
    }

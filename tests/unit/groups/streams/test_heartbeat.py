"""A streams group from its first member on: tasks are handed out, moved and taken over."""

import pytest

from tests.unit.groups.streams.word_count import word_count
from tidelog.base.errors import ErrorCode
from tidelog.groups.streams.messages import StatusCode


def codes(answer):
    return [status.code for status in answer.statuses]


def test_the_only_member_gets_every_task(team):
    one = team.instance("one")
    assert one.tasks == ["0_0", "0_1", "1_0", "1_1"]
    assert one.epoch == 2
    assert team.state == "Stable"
    assert one.beat().tasks is None  # nothing changed


def test_a_second_member_gets_its_share_once_the_first_let_go(team):
    one = team.instance("one")
    two = team.instance("two")
    assert two.tasks == []
    assert team.state == "Reconciling"
    one.beat()
    assert one.tasks == ["0_0", "1_0"]
    two.follow()
    assert two.tasks == []  # the first has not said that it let go
    one.follow()
    two.follow()
    assert two.tasks == ["0_1", "1_1"]
    assert team.state == "Stable"


def test_the_tasks_of_a_member_that_leaves_go_to_the_others(team):
    one, two = team.instance("one"), team.instance("two")
    team.converge(one, two)
    assert two.leave().member_epoch == -1
    one.follow()
    assert one.tasks == ["0_0", "0_1", "1_0", "1_1"]
    assert two.follow().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_tasks_of_a_silent_member_go_to_the_others(team):
    one, two = team.instance("one"), team.instance("two")
    team.converge(one, two)
    for _ in range(5):
        team.rig.pass_time(10)
        one.follow()
    assert len(one.tasks) == 4


def test_a_member_that_does_not_let_go_is_removed(team):
    one, two = team.instance("one", rebalance_timeout_ms=20_000), team.instance("two")
    for _ in range(3):
        one.beat()
        two.follow()
        team.rig.pass_time(8)
    assert one.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    team.converge(two)
    assert len(two.tasks) == 4


def test_standby_tasks_are_on_other_processes_and_take_over(make_team):
    team = make_team({"group.streams.num.standby.replicas": 1})
    one, two = team.instance("one"), team.instance("two")
    team.converge(one, two)
    assert one.tasks == ["0_0", "1_0", "1_1s"]
    assert two.tasks == ["0_1", "1_0s", "1_1"]
    two.leave()
    team.converge(one)
    assert one.tasks == ["0_0", "0_1", "1_0", "1_1"]


def test_there_is_no_standby_beside_its_task_on_the_same_process(make_team):
    team = make_team({"group.streams.num.standby.replicas": 1})
    one, two = team.instance("one", "same"), team.instance("two", "same")
    team.converge(one, two)
    assert sorted(one.tasks + two.tasks) == ["0_0", "0_1", "1_0", "1_1"]


def test_another_number_of_standbys_is_a_reason_to_assign_anew(make_team):
    team = make_team({"group.streams.num.standby.replicas": 1})
    one, two = team.instance("one"), team.instance("two")
    team.converge(one, two)
    team.rig.shard.configure(make_team().rig.settings)
    team.converge(one, two)
    assert not [task for task in one.tasks + two.tasks if task.endswith("s")]


@pytest.mark.parametrize(
    ("topics", "code", "detail"),
    [
        ({"words": 2}, StatusCode.MISSING_SOURCE_TOPICS, "Source topics lines are missing."),
        (
            {"lines": 3, "words": 3},
            StatusCode.MISSING_INTERNAL_TOPICS,
            "Internal topics are missing: counts",
        ),
        (
            {"lines": 3, "words": 2},
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            "Existing topic words has different number of partitions: expected 3, found 2",
        ),
    ],
)
def test_topics_that_are_missing_or_wrong(make_team, topics, code, detail):
    team = make_team(**topics)
    one = team.instance("one")
    answer = one.join()
    assert [tuple(status) for status in answer.statuses] == [(code, detail)]
    assert (one.tasks, team.state) == ([], "NotReady")
    team.set_topics(lines=3, words=3, counts=3)
    assert not one.follow().statuses
    assert len(one.tasks) == 6
    assert team.state == "Stable"


def test_the_broker_is_told_which_topics_to_create(make_team):
    answer = make_team(lines=3).instance("one").join()
    assert [(topic.name, topic.partitions) for topic in answer.missing_topics] == [
        ("counts", 3),
        ("words", 3),
    ]


def test_tasks_are_taken_away_while_a_topic_is_missing(team):
    one = team.instance("one")
    team.set_topics(words=2, counts=2)
    assert codes(one.follow()) == [StatusCode.MISSING_SOURCE_TOPICS]
    assert one.tasks == []
    one.follow()
    assert team.state == "NotReady"


def test_more_partitions_are_more_tasks(team):
    one = team.instance("one")
    team.set_topics(lines=3, words=3, counts=3)
    one.follow()
    assert len(one.tasks) == 6


def test_members_of_an_older_topology_are_told(team):
    team.instance("one", topology=word_count(epoch=2))
    assert codes(team.instance("two", topology=word_count(epoch=1)).beat()) == [StatusCode.STALE_TOPOLOGY]


def test_another_topology_is_refused(team):
    team.instance("one")
    other = word_count()
    other.subtopologies.pop()
    answer = team.instance("two").join(topology=other)
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert "Topology updates are not supported yet" in answer.error_message


def test_a_new_group_waits_for_more_members(make_team):
    team = make_team({"group.streams.initial.rebalance.delay.ms": 3000})
    one, two = team.instance("one"), team.instance("two")
    assert codes(two.beat()) == [StatusCode.ASSIGNMENT_DELAYED]
    assert (one.epoch, one.tasks, two.tasks) == (1, [], [])
    team.rig.pass_time(3)
    assert not one.follow().statuses
    two.follow()
    assert (one.tasks, two.tasks) == (["0_0", "1_0"], ["0_1", "1_1"])


def test_the_next_assignment_waits_for_the_interval(make_team):
    team = make_team({"group.streams.assignment.interval.ms": 1000})
    one = team.instance("one")
    team.instance("two")
    assert codes(one.beat()) == [StatusCode.ASSIGNMENT_DELAYED]
    assert len(one.tasks) == 4
    team.rig.pass_time(1)
    one.follow()
    assert len(one.tasks) == 2


def test_a_clock_that_was_set_back_delays_nothing(make_team):
    team = make_team({"group.streams.assignment.interval.ms": 1000})
    one = team.instance("one")
    team.rig.now -= 3600
    team.instance("two")
    one.beat()
    assert len(one.tasks) == 2


def test_a_member_may_stop_the_whole_application(team):
    one, two = team.instance("one"), team.instance("two")
    one.beat(shutdown_application=True)
    assert codes(two.beat()) == [StatusCode.SHUTDOWN_APPLICATION]
    one.leave()
    assert codes(two.beat()) == [StatusCode.SHUTDOWN_APPLICATION]
    two.leave()
    assert not codes(team.instance("three").beat())


def test_members_learn_where_the_others_answer_queries(team):
    one = team.instance("one", endpoint=("here", 1))
    two = team.instance("two", endpoint=("there", 2))
    team.converge(one, two)
    answer = one.beat(endpoint_information_epoch=0)
    by_host = {endpoint.host: endpoint for endpoint in answer.endpoints}
    assert by_host["here"].active == {"lines": [0], "words": [0]}
    assert by_host["there"].active == {"lines": [1], "words": [1]}
    assert one.beat(endpoint_information_epoch=answer.endpoint_information_epoch).endpoints is None


def test_epochs_that_do_not_fit_fence_the_member(team):
    one = team.instance("one")
    assert one.beat(99).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert one.beat(1).error is ErrorCode.FENCED_MEMBER_EPOCH
    team.instance("two")
    held = dict(one.owned)
    one.beat()  # is told to let go of some
    one.follow()
    assert one.beat(2, tasks=held).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert one.beat(2, tasks=one.owned).error is ErrorCode.NONE  # the last answer was lost


def test_a_member_that_missed_an_answer_is_told_its_tasks_again(team):
    one, two = team.instance("one"), team.instance("two")
    one.beat()
    one.follow()
    epoch = two.epoch
    given = two.follow().tasks  # at the same epoch, since it waited for them
    assert given
    assert two.beat(epoch, tasks={}).tasks == given
    assert two.beat(two.epoch, tasks=given).tasks is None
    one.leave()
    epoch = two.epoch
    assert two.beat(tasks=given).member_epoch > epoch
    assert two.beat(epoch, tasks=given).tasks == two.owned  # at the epoch before


def test_a_member_that_joins_again_is_told_its_tasks(team):
    one = team.instance("one")
    assert one.join().tasks == one.owned


def test_a_group_that_is_full(make_team):
    team = make_team({"group.streams.max.size": 1})
    team.instance("one")
    assert team.instance("two").join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert team.instance("one").join().error is ErrorCode.NONE


def test_a_new_coordinator_goes_on_where_the_last_one_was(make_team):
    team = make_team({"group.streams.num.standby.replicas": 1})
    one, two = team.instance("one"), team.instance("two")
    one.beat()
    team.reload()
    team.converge(one, two)
    assert (one.tasks, two.tasks) == (["0_0", "1_0", "1_1s"], ["0_1", "1_0s", "1_1"])
    team.reload()
    team.rig.pass_time(46)
    assert team.state == "Empty"


def test_nothing_is_known_of_a_group_that_could_not_be_written(team):
    team.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert team.instance("one").join().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    team.rig.log.refuse(None)
    assert team.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert len(team.instance("one").tasks) == 4

"""Transcripts of groups of the new kind: joins, partitions that move from one member to another, epochs."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.messages import HeartbeatRequest


def test_the_first_member_gets_everything_at_once(club):
    one = club.consumer("one")
    assert one.partitions == ["t0", "t1", "t2", "t3"]
    assert one.epoch == 1
    assert club.epochs == (1, 1)
    assert club.state == "Stable"


def test_an_answer_carries_the_assignment_only_when_it_changed_or_is_asked_for(club):
    one = club.consumer("one")
    assert one.beat().assignment is None
    assert one.follow().assignment is None
    full = one.beat(topic_partitions=(), rebalance_timeout_ms=60_000, subscribed_topic_names=("t",))
    assert set(full.assignment) == set(one.owned)
    assert full.heartbeat_interval_ms == 5_000
    by_regex = one.beat(topic_partitions=(), rebalance_timeout_ms=60_000, subscribed_topic_regex="")
    assert by_regex.assignment is not None


def test_a_heartbeat_that_changes_nothing_writes_nothing(club):
    one = club.consumer("one")
    before = len(club.rig.records)
    one.follow()
    assert len(club.rig.records) == before


def test_a_partition_is_given_only_after_its_old_owner_let_go(club):
    one, two = club.consumer("one"), club.consumer("two")
    assert two.partitions == []
    assert two.epoch == 2
    assert club.state == "Reconciling"
    assert two.follow().assignment is None
    asked = one.beat()  # does not say what it owns, so it is believed to own everything still
    assert one.partitions == ["t0", "t1"]
    assert asked.member_epoch == 1
    assert two.follow().assignment is None
    assert one.follow().member_epoch == 2
    two.follow()
    assert two.partitions == ["t2", "t3"]
    assert club.state == "Stable"
    assert club.epochs == (2, 2)


def test_a_member_that_let_go_already_moves_on_at_once(club):
    one, _two = club.consumer("one"), club.consumer("two")
    one.owned = {topic: frozenset({0, 1}) for topic in one.owned}
    assert one.follow().member_epoch == 2


def test_partitions_of_one_who_left_go_to_the_others(club):
    one, two = club.consumer("one"), club.consumer("two")
    club.converge(one, two)
    gone = two.leave()
    assert (gone.member_id, gone.member_epoch) == ("two", -1)
    assert club.state == "Assigning"
    one.follow()
    assert one.partitions == ["t0", "t1", "t2", "t3"]
    assert one.leave().error is ErrorCode.NONE
    assert club.state == "Empty"


def test_a_changed_subscription_rebalances(make_club):
    club = make_club(a=2, b=2)
    one = club.consumer("one", subscribed_topic_names=("a",))
    two = club.consumer("two", subscribed_topic_names=("a", "b"))
    club.converge(one, two)
    assert (one.partitions, two.partitions) == (["a0", "a1"], ["b0", "b1"])
    one.beat(subscribed_topic_names=("b",))
    club.converge(one, two)
    assert len(one.partitions) == len(two.partitions) == 2
    assert {name[0] for name in one.partitions} == {"b"}


def test_the_same_subscription_again_does_not(club):
    one = club.consumer("one")
    one.beat(subscribed_topic_names=("t", "t"))
    assert club.epochs == (1, 1)
    one.beat(client_id="other")
    assert club.epochs == (1, 1)
    assert club.described().members[0].client_id == "other"


def test_a_lost_answer_may_be_asked_for_again(club):
    one, two = club.consumer("one"), club.consumer("two")
    one.beat()
    one.follow()
    two.follow()
    assert (one.epoch, two.epoch) == (2, 2)
    two_before = dict(two.owned)
    club.consumer("three")
    one.follow()
    one.follow()
    moved = one.epoch
    assert moved == 3
    again = one.beat(2, topic_partitions=tuple((t, tuple(n)) for t, n in one.owned.items()))
    assert (again.error, again.member_epoch) == (ErrorCode.NONE, 3)
    assert one.beat(2, topic_partitions=None).error is ErrorCode.FENCED_MEMBER_EPOCH
    all_four = tuple((topic, (0, 1, 2, 3)) for topic in two_before)
    assert one.beat(2, topic_partitions=all_four).error is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("epoch", [9, 1])
def test_a_wrong_epoch_is_fenced_and_the_member_can_rejoin(club, epoch):
    one = club.consumer("one")
    one.beat(subscribed_topic_names=())
    one.follow()
    one.beat(subscribed_topic_names=("t",))
    assert one.epoch == 3
    assert one.beat(epoch).error is ErrorCode.FENCED_MEMBER_EPOCH
    one.owned = {}
    assert one.join().member_epoch == 3
    assert one.partitions == ["t0", "t1", "t2", "t3"]


def test_unknown_members_and_groups(club):
    stranger = club.consumer("one")
    stranger.id = "other"
    assert stranger.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.leave().error is ErrorCode.UNKNOWN_MEMBER_ID
    stranger.id = "one"
    stranger.leave()
    club.rig.run(club.rig.shard.delete_groups(["g"], club.rig.now, club.rig.now_ms))
    assert stranger.beat(1).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert stranger.leave().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.shard.durable.consumer_groups == {}
    assert club.rig.shard.groups == {}


def test_a_full_group_takes_nobody_new(make_club):
    club = make_club({"consumer_members_max": 1}, t=4)
    club.consumer("one").follow()
    two = club.consumer("two")
    assert two.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [member.member_id for member in club.described().members] == ["one"]


def test_more_members_than_partitions(make_club):
    club = make_club(t=1)
    members = [club.consumer(name) for name in ("one", "two", "three")]
    club.converge(*members)
    assert [one.partitions for one in members] == [["t0"], [], []]
    assert club.state == "Stable"


def test_topics_that_do_not_exist_yet_are_read_once_they_do(club):
    one = club.consumer("one", subscribed_topic_names=("t", "later"))
    assert len(one.partitions) == 4
    club.set_topics(t=4, later=1)
    one.follow()
    assert one.partitions == ["later0", "t0", "t1", "t2", "t3"]


def test_topics_that_grow_or_go_rebalance_their_readers_only(make_club):
    club = make_club(t=1, other=1)
    one = club.consumer("one")
    club.set_topics(t=1, other=5)
    one.follow()
    assert club.epochs == (1, 1)
    club.set_topics(t=3)
    one.follow()
    assert one.partitions == ["t0", "t1", "t2"]
    club.set_topics()
    one.follow()
    assert one.partitions == []


def test_nobody_loses_partitions_while_the_topics_are_not_known(club):
    one = club.consumer("one")
    club.rig.reload()
    assert one.follow().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    club.rig.shard.on_topics_changed(club.topics)
    assert one.follow().error is ErrorCode.NONE
    assert one.partitions == ["t0", "t1", "t2", "t3"]


def test_members_choose_the_assignor_by_majority(make_club):
    club = make_club(a=3, b=3)
    both = ("a", "b")
    one = club.consumer("one", subscribed_topic_names=both, server_assignor="range")
    two = club.consumer("two", subscribed_topic_names=both, server_assignor="range")
    club.converge(one, two)
    assert one.partitions == ["a0", "a1", "b0", "b1"]
    assert two.partitions == ["a2", "b2"]
    assert club.described().assignor_name == "range"


def test_a_failed_append_changes_nothing(club):
    one = club.consumer("one")
    club.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    two = club.consumer("two")
    assert two.join().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    club.rig.log.refuse(None)
    assert one.follow().member_epoch == 1
    assert [member.member_id for member in club.described().members] == ["one"]
    assert two.join().error is ErrorCode.NONE


def test_a_change_of_topics_survives_a_failed_append(club):
    one = club.consumer("one")
    club.set_topics(t=6)
    club.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert one.follow().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    club.rig.log.refuse(None)
    one.follow()
    assert len(one.partitions) == 6


def test_answers_wait_until_the_records_are_safe(club):
    club.rig.log.holds = True
    request = HeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=(), topic_partitions=()
    )
    pending = club.rig.run(club.rig.shard.consumer_heartbeat(request, club.rig.now, club.rig.now_ms))
    assert not pending.done
    club.rig.commit_all()
    assert pending.answer.member_epoch == 1


def test_a_new_coordinator_goes_on_where_the_old_one_stopped(club):
    one, two = club.consumer("one"), club.consumer("two")
    one.beat()
    club.reload()
    club.converge(one, two)
    assert (one.partitions, two.partitions) == (["t0", "t1"], ["t2", "t3"])
    assert club.epochs == (2, 2)


ONCE_A_SECOND = {"group.consumer.assignment.interval.ms": 1000}


def test_assignments_keep_their_distance_and_members_come_back_in_time(make_club):
    club = make_club(broker=ONCE_A_SECOND)
    one = club.consumer("one")
    club.rig.pass_time(0.4)
    two, three = club.consumer("two"), club.consumer("three")
    assert (two.partitions, two.epoch) == ([], 1)
    assert club.epochs == (3, 1)
    assert club.state == "Assigning"
    assert three.beat().heartbeat_interval_ms == 600
    assert one.follow().heartbeat_interval_ms == 600
    assert one.partitions == ["t0", "t1", "t2", "t3"]
    club.reload()
    club.rig.pass_time(0.6)
    assert two.beat().heartbeat_interval_ms == 5000
    assert club.epochs == (3, 3), "one target for both"
    club.converge(one, two, three)
    assert sorted(one.partitions + two.partitions + three.partitions) == ["t0", "t1", "t2", "t3"]
    assert club.state == "Stable"


def test_a_group_may_have_an_assignment_interval_of_its_own(make_club):
    club = make_club(broker=ONCE_A_SECOND, groups={"g": {"consumer.assignment.interval.ms": "0"}})
    club.consumer("one")
    club.consumer("two")
    assert club.epochs == (2, 2)


def test_a_clock_that_was_set_back_delays_no_assignment(make_club):
    club = make_club(broker=ONCE_A_SECOND)
    club.consumer("one")
    club.rig.now -= 60
    club.consumer("two")
    assert club.epochs == (2, 2)


def test_an_assignment_of_nothing_delays_no_other(make_club):
    club = make_club(broker=ONCE_A_SECOND)
    one = club.consumer("one", subscribed_topic_names=("later",))
    assert (one.partitions, one.epoch) == ([], 1)
    club.set_topics(t=4, later=2)
    one.beat()
    assert one.partitions == ["later0", "later1"]


def test_a_member_lets_go_of_what_it_reads_no_more_before_the_next_assignment(make_club):
    club = make_club(broker=ONCE_A_SECOND, t=2, u=2)
    one = club.consumer("one", subscribed_topic_names=("t", "u"))
    one.beat(subscribed_topic_names=("u",))
    assert one.partitions == ["u0", "u1"]
    one.follow()
    one.beat(subscribed_topic_names=("t", "u"))
    one.follow()
    assert one.partitions == ["u0", "u1"]
    assert club.epochs == (3, 1)
    club.rig.pass_time(1)
    one.follow()
    assert one.partitions == ["t0", "t1", "u0", "u1"]
    assert (one.epoch, club.state) == (3, "Stable")


def test_what_a_member_reads_no_more_goes_one_topic_after_the_other(make_club):
    club = make_club(broker=ONCE_A_SECOND, t=1, u=1, v=1)
    one = club.consumer("one", subscribed_topic_names=("t", "u", "v"))
    one.beat(subscribed_topic_names=("u", "v"))
    one.beat(subscribed_topic_names=("v",))
    for _ in range(3):
        one.follow()
        assert one.epoch == 1
    assert one.partitions == ["v0"]
    club.rig.pass_time(1)
    assert one.follow().member_epoch == club.epochs[0]
    assert club.state == "Stable"

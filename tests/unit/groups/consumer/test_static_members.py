"""Static members: away for a while, back under another id, and two who claim one instance."""

from tidelog.base.errors import ErrorCode


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(club):
    one, two = club.consumer("one", instance_id="i1"), club.consumer("two")
    club.converge(one, two)
    mine, epochs = one.partitions, club.epochs
    away = one.leave(-2)
    assert (away.error, away.member_epoch) == (ErrorCode.NONE, -2)
    club.converge(two)
    back = club.consumer("one-again", instance_id="i1")
    assert back.partitions == mine
    assert club.epochs == epochs
    assert back.epoch == epochs[0]
    assert club.state == "Stable"
    assert one.beat(2).error is ErrorCode.FENCED_INSTANCE_ID
    one.instance_id = None
    assert one.beat(2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_it_may_come_back_under_its_old_id(club):
    one = club.consumer("one", instance_id="i1")
    one.leave(-2)
    assert one.beat(1).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert one.join().member_epoch == 1
    assert len(one.partitions) == 4


def test_an_instance_in_use_is_not_given_away(club):
    one = club.consumer("one", instance_id="i1")
    other = club.consumer("other", instance_id="i1")
    assert other.join().error is ErrorCode.UNRELEASED_INSTANCE_ID
    assert one.follow().error is ErrorCode.NONE


def test_one_who_stays_away_is_removed(club):
    one, two = club.consumer("one", instance_id="i1"), club.consumer("two")
    club.converge(one, two)
    one.leave(-2)
    for _ in range(5):
        club.rig.pass_time(10)
        two.follow()
    assert two.partitions == ["t0", "t1", "t2", "t3"]
    assert [member.member_id for member in club.described().members] == ["two"]


def test_a_static_member_that_leaves_for_good_is_gone_at_once(club):
    one = club.consumer("one", instance_id="i1")
    assert one.leave().error is ErrorCode.NONE
    assert club.state == "Empty"
    assert one.beat(1).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_changed_subscription_on_return_rebalances(make_club):
    club = make_club(t=2, u=2)
    club.consumer("one", instance_id="i1").leave(-2)
    back = club.consumer("two", instance_id="i1", subscribed_topic_names=("u",))
    assert back.partitions == ["u0", "u1"]
    assert club.epochs == (2, 2)


def test_a_full_group_takes_a_static_member_back(make_club):
    club = make_club({"consumer_members_max": 1}, t=1)
    club.consumer("one", instance_id="i1").leave(-2)
    assert club.consumer("two", instance_id="i1").partitions == ["t0"]


def test_replacement_survives_a_reload(club):
    club.consumer("one", instance_id="i1").leave(-2)
    back = club.consumer("two", instance_id="i1")
    club.reload()
    assert back.follow().error is ErrorCode.NONE
    assert [member.instance_id for member in club.described().members] == ["i1"]

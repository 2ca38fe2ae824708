"""Members that fall silent or do not let go."""

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode
from tidelog.groups.settings import GroupSettings


def test_a_silent_member_is_removed_after_the_session_timeout(club):
    one, two = club.consumer("one"), club.consumer("two")
    for _ in range(5):
        club.rig.pass_time(10)
        one.follow()
    assert [member.member_id for member in club.described().members] == ["one"]
    assert one.partitions == ["t0", "t1", "t2", "t3"]
    assert two.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert any("sent no heartbeat" in note for note in club.rig.shard.take_notes())


def test_members_that_fall_silent_at_the_same_moment_are_removed_one_after_the_other(club):
    """The second removal must see the first: else it assigns partitions to a member that is gone."""
    consumers = [club.consumer(name) for name in ("one", "two", "three")]
    club.converge(*consumers)
    before = club.epochs[0]
    club.rig.pass_time(40)
    consumers[0].follow()
    club.rig.pass_time(6)
    assert [member.member_id for member in club.described().members] == ["one"]
    assert club.epochs[0] == before + 2, "an epoch for each"
    for _ in range(2):
        consumers[0].follow()
    assert consumers[0].partitions == ["t0", "t1", "t2", "t3"]


def test_one_who_does_not_let_go_in_time_is_removed_though_it_is_alive(club):
    one, two = club.consumer("one"), club.consumer("two")
    for _ in range(13):
        one.beat()
        two.follow()
        club.rig.pass_time(5)
    assert one.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    two.follow()
    assert two.partitions == ["t0", "t1", "t2", "t3"]


def test_one_who_let_go_is_not_removed_later(club):
    one, two = club.consumer("one"), club.consumer("two")
    one.beat()
    club.converge(one, two)
    for _ in range(30):
        club.rig.pass_time(5)
        club.converge(one, two)
    assert club.state == "Stable"
    assert club.epochs == (2, 2)


def test_sessions_and_revocations_run_on_a_new_coordinator(club):
    one, two = club.consumer("one"), club.consumer("two")
    one.beat()
    club.reload()
    for _ in range(13):
        one.beat()
        two.follow()
        club.rig.pass_time(5)
    assert [member.member_id for member in club.described().members] == ["two"]
    club.rig.pass_time(50)
    assert club.state == "Empty"


def test_a_removal_that_could_not_be_written_is_tried_again(club):
    club.consumer("one")
    club.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    club.rig.pass_time(46)
    club.rig.log.refuse(None)
    assert club.state == "Stable"
    club.rig.pass_time(1)
    assert club.state == "Empty"


def test_timers_of_those_who_are_gone_go_too(club):
    for number in range(10):
        club.consumer(f"member-{number}").leave()
    club.rig.pass_time(50)
    assert len(club.rig.shard._room.timers) == 0


def test_a_group_may_have_timings_of_its_own(club):
    one = club.consumer("one")
    own = {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "7000"}
    club.rig.shard.configure(GroupSettings.of(BrokerConfig(), {"g": own, "other": {}}))
    assert one.beat().heartbeat_interval_ms == 7_000
    club.rig.pass_time(50)
    assert one.beat().error is ErrorCode.NONE
    club.rig.shard.configure(GroupSettings.of(BrokerConfig(), {"other": own}))
    assert one.beat().heartbeat_interval_ms == 5_000
    club.rig.pass_time(50)
    assert one.beat().error is ErrorCode.UNKNOWN_MEMBER_ID

"""A share group from its first member on: partitions are shared, moved and taken over."""

import pytest

from tests.unit.groups.share.conftest import topic_id
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.record_formats.share_group import Key
from tidelog.groups.settings import GroupSettings
from tidelog.groups.share.messages import HeartbeatRequest

ALL = ["t0", "t1", "t2", "t3"]


def test_the_only_member_gets_every_partition_once_there_is_state(crew):
    crew.makes = False
    one = crew.newcomer("one")
    first = one.join()
    assert (first.error, first.member_id, first.member_epoch) == (ErrorCode.NONE, "one", 1)
    assert first.assignment == {}
    assert first.to_make == ("g", 1, {topic_id("t"): {0: -1, 1: -1, 2: -1, 3: -1}})
    assert one.beat().to_make is None  # it is under way
    assert one.partitions == []
    crew.make()
    assert one.beat().member_epoch == 2
    assert one.partitions == ALL
    assert one.beat().assignment is None  # nothing changed
    assert one.beat(subscribed_topic_names=("t",)).assignment is not None  # it asks in full
    assert crew.described().group_state == "Stable"


def test_the_records_come_in_the_order_of_kafka(crew):
    crew.newcomer("one").join()
    kinds = [int.from_bytes(key[:2]) for key, _ in crew.rig.records]
    in_join = [Key.MEMBER, Key.GROUP, Key.TARGET_OF_MEMBER, Key.TARGET, Key.HOLDING, Key.STATES]
    assert kinds == [*in_join, Key.STATES]


def test_members_share_out_partitions_without_waiting_for_each_other(crew):
    one, two = crew.worker("one"), crew.worker("two")
    assert len(two.partitions) == 2  # the first has not heard of it, and reads on
    assert one.partitions == ALL
    one.beat()
    assert sorted(one.partitions + two.partitions) == ALL


def test_members_that_outnumber_partitions_share_them(make_crew):
    crew = make_crew(topics={"t": 1})
    workers = [crew.worker(f"w{number}") for number in range(3)]
    assert [worker.partitions for worker in workers] == [["t0"]] * 3


def test_a_member_that_leaves_or_falls_silent_is_replaced(crew):
    one, two, three = (crew.worker(name) for name in ("one", "two", "three"))
    assert two.leave().member_epoch == -1
    one.beat()
    for _ in range(5):
        crew.rig.pass_time(10)
        assert one.beat().error is ErrorCode.NONE
    assert one.partitions == ALL
    assert three.beat().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert two.beat(3).error is ErrorCode.UNKNOWN_MEMBER_ID
    one.leave()
    assert crew.described().group_state == "Empty"
    crew.reload()
    crew.rig.pass_time(3600 * 24 * 30)
    assert crew.described().group_state == "Empty"  # it remembers where it is: offsets expire, this does not


def test_a_new_coordinator_knows_it_all_but_when_members_were_heard(crew):
    one = crew.worker("one")
    crew.reload()
    crew.rig.pass_time(44)
    assert one.beat().assignment is None
    crew.reload()
    crew.rig.pass_time(46)
    assert one.beat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_that_do_not_fit_are_fenced(crew):
    one = crew.worker("one")
    assert one.beat(1).member_epoch == 2  # the answer may have been lost
    newer, older = one.beat(3), None
    crew.worker("two")
    one.beat()
    older = one.beat(1)
    assert newer.error is older.error is ErrorCode.FENCED_MEMBER_EPOCH
    assert "greater" in newer.error_message
    assert "smaller" in older.error_message
    assert one.join().assignment == one.assigned != {}  # what it gets told is to join again


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"member_id": ""}, "MemberId can't be empty"),
        ({"member_id": "x" * 37}, "longer than 36"),
        ({"group_id": ""}, "GroupId can't be empty"),
        ({"rack_id": ""}, "RackId can't be empty"),
        ({"subscribed_topic_names": None}, "SubscribedTopicNames must be set"),
        ({"subscribed_topic_names": ()}, "SubscribedTopicNames must be set"),
        ({"member_epoch": -2}, "MemberEpoch is invalid"),
    ],
)
def test_what_makes_a_request_invalid(crew, fields, words):
    request = HeartbeatRequest("g", "one", 0, subscribed_topic_names=("t",))._replace(**fields)
    refused = crew.send(request)
    assert refused.error is ErrorCode.INVALID_REQUEST
    assert words in refused.error_message
    assert not crew.rig.records


def test_a_full_group_takes_no_further_member(make_crew):
    crew = make_crew(share_members_max=1)
    one = crew.worker("one")
    refused = crew.newcomer("two").join()
    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "maximum capacity of 1" in refused.error_message
    assert one.join().error is ErrorCode.NONE


def test_settings_of_the_group_are_followed_live(make_crew):
    groups = {"g": {"share.heartbeat.interval.ms": "7000", "share.session.timeout.ms": "50000"}}
    crew = make_crew(groups=groups)
    one = crew.worker("one")
    assert one.beat().heartbeat_interval_ms == 7000
    configs = GroupConfigs(BrokerConfig(), {"g": {"share.session.timeout.ms": "55000"}})
    crew.rig.shard.configure(GroupSettings(of_groups=configs))
    assert one.beat().heartbeat_interval_ms == 5000
    crew.rig.pass_time(52)
    assert one.beat().error is ErrorCode.NONE


def test_assignments_keep_their_distance_and_members_come_back_in_time(make_crew):
    crew = make_crew({"group.share.assignment.interval.ms": 1000})
    one = crew.newcomer("one")
    one.join()
    one.beat()
    assert one.partitions == ALL  # the first target had nothing in it, and holds up nothing
    two = crew.newcomer("two")
    crew.rig.pass_time(0.4)
    waits = two.join()
    assert (waits.assignment, waits.heartbeat_interval_ms) == ({}, 600)
    crew.rig.pass_time(0.6)
    assert two.beat().heartbeat_interval_ms == 5000
    assert len(two.partitions) == 2


def test_other_topics_and_more_partitions_are_made_and_assigned(crew):
    crew.set_topics(t=4, u=1)
    one = crew.worker("one")
    one.beat(subscribed_topic_names=("u", "t", "t"))
    one.beat()
    assert one.partitions == [*ALL, "u0"]
    crew.set_topics(t=5, u=1)
    one.beat()
    one.beat()
    assert one.partitions == [*ALL, "t4", "u0"]
    one.beat(subscribed_topic_names=("u",))
    assert one.partitions == ["u0"]
    assert crew.states.initialized[topic_id("t")].partitions == frozenset(range(5))  # for when it comes back
    crew.reload()


def test_a_topic_that_comes_later_is_read_from_then_on(crew):
    one = crew.worker("one", subscribed_topic_names=("later",))
    assert one.partitions == []
    crew.set_topics(t=4, later=2)
    one.beat()
    one.beat()
    assert one.partitions == ["later0", "later1"]


def test_members_with_different_topics_get_only_theirs(crew):
    crew.set_topics(t=2, u=2)
    one, two = crew.worker("one"), crew.worker("two", subscribed_topic_names=("t", "u"))
    two.beat()
    one.beat()
    assert two.partitions[-2:] == ["u0", "u1"]
    assert sorted(one.partitions + two.partitions) == ["t0", "t1", "u0", "u1"]


def test_what_cannot_be_written_changes_nothing(crew):
    crew.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS, 1)
    one = crew.newcomer("one")
    assert one.join().error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert crew.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert one.join().to_make is not None
    one.beat()
    assert one.partitions == ALL

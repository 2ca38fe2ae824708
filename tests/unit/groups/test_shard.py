"""Loading, unloading, listing and describing: the shard as a whole."""

import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode as E
from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.settings import GroupSettings, OffsetsTopicSettings


def test_a_new_coordinator_knows_the_stable_group_and_gives_members_a_session_to_show_up(rig):
    generation, (leader, follower) = rig.stable(2)
    rig.commit(member_id=leader, generation_id_or_member_epoch=generation, offset=42)
    rig.pass_time(9)
    rig.reload()
    assert rig.state() == "Stable"
    rig.pass_time(9)
    assert rig.heartbeat(leader, generation) is E.NONE
    assert rig.sync(follower, generation).answer.assignment == b"for " + follower.encode()
    assert rig.committed() == 42
    rig.pass_time(1)
    assert rig.members() == [leader]


def test_a_rebalance_under_way_is_lost_and_begins_again(rig):
    generation, (leader, follower) = rig.stable(2)
    rig.join(leader)
    rig.reload()
    assert rig.state() == "Stable"
    assert rig.heartbeat(leader, generation) is E.NONE
    joins = [rig.join(leader), rig.join(follower)]
    assert {join.answer.generation_id for join in joins} == {generation + 1}


def test_a_generation_that_was_never_stored_is_refused_by_the_new_coordinator(rig):
    generation, (leader, follower) = rig.stable(2)
    rig.join(leader)
    rig.join(follower)
    rig.reload()
    assert rig.heartbeat(leader, generation + 1) is E.ILLEGAL_GENERATION
    assert rig.join(leader).done is False


def test_a_loaded_group_over_the_limit_rebalances(make_rig):
    rig = make_rig(members_max=3)
    generation, ids = rig.stable(3)
    rig.settings = make_rig(members_max=2).settings
    rig.reload()
    assert rig.state() == "PreparingRebalance"
    assert rig.heartbeat(ids[0], generation) is E.REBALANCE_IN_PROGRESS


def test_unloading_answers_everybody_and_stops_all_timers(rig):
    generation, (leader, follower) = rig.stable(2)
    waiting_join = rig.join(leader)
    ids = [rig.new_id(group="h"), rig.new_id(group="h")]
    rig.join(ids[0], group="h")
    rig.join(ids[1], group="h")
    rig.join(ids[0], group="h")
    waiting_sync = rig.sync(ids[1], 2, group="h")
    rig.shard.unload()
    assert waiting_join.answer.error is waiting_sync.answer.error is E.NOT_COORDINATOR
    assert rig.shard.next_deadline is None
    assert rig.heartbeat(follower, generation) is E.UNKNOWN_MEMBER_ID


def test_an_outcome_released_after_unloading_does_no_harm(rig):
    one = rig.new_id()
    rig.join(one)
    rig.log.holds = True
    waiting = rig.sync(one, 1, {one: b"x"})
    rig.shard.unload()
    rig.commit_all()
    assert waiting.answer.error is E.NOT_COORDINATOR


def test_records_of_unknown_kinds_are_left_alone_and_broken_ones_are_not(rig):
    rig.shard.replay(b"\x00\x63whatever", b"x")
    assert rig.shard.durable.skipped == 1
    with pytest.raises(CorruptGroupRecord):
        rig.shard.replay(b"\x00\x01\x00\x05g", b"x")


def test_listing_by_state_and_type(rig):
    rig.stable(1)
    rig.commit(group="simple")
    listed = {one.group_id: one for one in rig.shard.list_groups()}
    assert listed["g"] == ("g", "consumer", "Stable", "classic")
    assert listed["simple"] == ("simple", "", "Empty", "classic")

    def names(*filters):
        return [one.group_id for one in rig.shard.list_groups(*filters)]

    assert names([" stable"]) == ["g"]
    assert names(["EMPTY", "Dead"]) == ["simple"]
    assert names([], ["Classic"]) == ["g", "simple"]
    assert names([], ["consumer"]) == names([], ["martian"]) == []


def test_describing(rig):
    _generation, (leader, _follower) = rig.stable(2, client_host="/10.0.0.1")
    group = rig.shard.describe("g")
    assert (group.error, group.group_state, group.protocol_type, group.protocol_data) == (
        E.NONE,
        "Stable",
        "consumer",
        "range",
    )
    assert group.members[0] == (leader, None, "client", "/10.0.0.1", b"meta", b"for " + leader.encode())
    rig.join(leader)
    moving = rig.shard.describe("g")
    assert (moving.group_state, moving.protocol_data) == ("PreparingRebalance", "")
    assert {member.member_metadata for member in moving.members} == {b""}
    assert rig.shard.describe("nobody") == ("nobody", E.GROUP_ID_NOT_FOUND, "Dead", "", "", ())


def test_settings_come_from_the_broker():
    config = BrokerConfig(
        {"group.max.size": 7, "offsets.retention.minutes": 2, "offsets.topic.num.partitions": 3}
    )
    settings = GroupSettings.of(config)
    assert (settings.members_max, settings.offsets_retention_ms) == (7, 120_000)
    assert GroupSettings.of(BrokerConfig()) == GroupSettings()
    assert OffsetsTopicSettings.of(config).partitions == 3
    assert OffsetsTopicSettings.of(BrokerConfig()) == OffsetsTopicSettings()

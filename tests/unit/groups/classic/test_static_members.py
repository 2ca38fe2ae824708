"""KIP-345 and KIP-814: members that keep their place over a restart."""

import pytest

from tidelog.base.errors import ErrorCode as E
from tidelog.groups.classic.messages import LeavingMember


@pytest.fixture
def static(rig):
    """A stable group of two static members: generation, leader's and follower's ids."""
    leader = rig.join(group_instance_id="i1").answer.member_id
    follower = rig.join(group_instance_id="i2")
    rig.join(leader, group_instance_id="i1")
    follower_id, generation = follower.answer.member_id, follower.answer.generation_id
    rig.sync(leader, generation, {leader: b"L", follower_id: b"F"}, group_instance_id="i1")
    assert rig.sync(follower_id, generation, group_instance_id="i2").answer.assignment == b"F"
    return generation, leader, follower_id


def test_static_members_need_no_second_join_and_carry_their_instance_in_the_id(rig):
    answer = rig.join(group_instance_id="i1").answer
    assert answer.error is E.NONE
    assert answer.member_id.startswith("i1-")
    assert answer.members[0].group_instance_id == "i1"


def test_follower_comes_back_without_a_rebalance(rig, static):
    generation, leader, old = static
    answer = rig.join(group_instance_id="i2").answer
    assert answer.error is E.NONE
    assert (answer.generation_id, answer.leader, answer.members) == (generation, leader, ())
    assert not answer.skip_assignment
    assert rig.state() == "Stable"
    assert rig.sync(answer.member_id, generation).answer.assignment == b"F"
    assert rig.heartbeat(old, generation, "i2") is E.FENCED_INSTANCE_ID
    assert rig.heartbeat(old, generation) is E.UNKNOWN_MEMBER_ID
    assert rig.join(old, group_instance_id="i2").answer.error is E.FENCED_INSTANCE_ID
    assert rig.commit(member_id=old, group_instance_id="i2", generation_id_or_member_epoch=generation) is (
        E.FENCED_INSTANCE_ID
    )
    rig.reload()
    assert rig.members() == [leader, answer.member_id]


def test_leader_comes_back_and_must_not_assign_again(rig, static):
    generation, _, follower = static
    answer = rig.join(group_instance_id="i1").answer
    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert {m.member_id for m in answer.members} == {answer.member_id, follower}
    assert rig.sync(answer.member_id, generation).answer.assignment == b"L"


def test_leader_of_an_old_version_is_told_that_another_one_leads(rig, static):
    _, old, _ = static
    answer = rig.join(group_instance_id="i1", api_version=8).answer
    assert answer.leader == old != answer.member_id
    assert answer.members == ()
    assert not answer.skip_assignment


def test_the_answer_waits_until_the_new_id_is_safe(rig, static):
    rig.log.holds = True
    pending = rig.join(group_instance_id="i2")
    assert not pending.done
    rig.commit_all()
    assert pending.answer.error is E.NONE


def test_when_the_new_id_cannot_be_stored_the_client_tries_again(rig, static):
    generation, leader, _ = static
    rig.log.refuse(E.NOT_ENOUGH_REPLICAS)
    assert rig.join(group_instance_id="i2").answer.error is E.COORDINATOR_NOT_AVAILABLE
    rig.log.refuse(None)
    assert rig.join(group_instance_id="i2").answer.generation_id == generation
    assert rig.heartbeat(leader, generation, "i1") is E.NONE


def test_a_rebalance_that_begins_before_the_id_is_safe_answers_the_join(rig, static):
    generation, leader, _ = static
    rig.log.holds = True
    pending = rig.join(group_instance_id="i2")
    rejoined = rig.join(leader, group_instance_id="i1")
    assert pending.answer.generation_id == rejoined.answer.generation_id == generation + 1
    rig.commit_all()
    assert rig.state() == "CompletingRebalance"


def test_a_change_of_the_selected_protocol_rebalances(rig):
    both = (("range", b""), ("sticky", b""))
    one = rig.join(group_instance_id="i1", protocols=both).answer
    rig.sync(one.member_id, 1, {one.member_id: b"x"})
    again = rig.join(group_instance_id="i1", protocols=both[::-1]).answer
    assert (again.generation_id, again.protocol_name) == (2, "sticky")


def test_coming_back_while_the_others_wait_for_the_leader_rebalances_again(rig, static):
    generation, leader, follower = static
    joins = [rig.join(leader, group_instance_id="i1"), rig.join(follower, group_instance_id="i2")]
    assert {join.answer.generation_id for join in joins} == {generation + 1}
    waiting = rig.sync(follower, generation + 1, group_instance_id="i2")
    back = rig.join(group_instance_id="i1")
    assert waiting.answer.error is E.REBALANCE_IN_PROGRESS
    assert not back.done
    rig.join(follower, group_instance_id="i2")
    assert back.answer.generation_id == generation + 2


def test_a_second_process_with_the_same_instance_fences_the_waiting_one(rig, static):
    generation, leader, follower = static
    waiting = rig.join(leader, group_instance_id="i1")
    back = rig.join(group_instance_id="i1")
    assert waiting.answer.error is E.FENCED_INSTANCE_ID
    rig.join(follower, group_instance_id="i2")
    assert back.answer.generation_id == generation + 1


def test_static_members_survive_a_rebalance_they_missed_until_they_fail_to_sync(rig, static):
    generation, leader, follower = static
    rejoined = rig.join(leader, group_instance_id="i1", session_timeout_ms=300_000)
    rig.shard.groups["g"].members[follower].session_timeout_ms = 300_000
    rig.heartbeat(follower, generation, "i2")
    rig.pass_time(60)
    assert {m.member_id for m in rejoined.answer.members} == {leader, follower}
    rig.sync(leader, generation + 1, {leader: b"all"})
    rig.pass_time(60)
    assert rig.state() == "PreparingRebalance"
    assert rig.members() == [leader]


def test_nobody_rejoins_so_the_rebalance_waits_for_the_sessions(rig, static):
    generation, leader, follower = static
    for member in rig.shard.groups["g"].members.values():
        member.session_timeout_ms = 200_000
    rig.heartbeat(leader, generation, "i1")
    rig.heartbeat(follower, generation, "i2")
    joining = rig.join(leader, group_instance_id="i1", session_timeout_ms=200_000)
    rig.leave(LeavingMember(leader, "i1"))
    assert joining.answer.error is E.UNKNOWN_MEMBER_ID
    rig.pass_time(130)
    assert rig.state() == "PreparingRebalance"
    rig.pass_time(80)
    assert rig.state() == "Empty"


def test_an_instance_unknown_to_the_group(rig, static):
    generation, leader, _ = static
    assert rig.heartbeat(leader, generation, "other") is E.UNKNOWN_MEMBER_ID
    assert rig.join("x", group_instance_id="other").answer.error is E.UNKNOWN_MEMBER_ID


def test_a_pending_dynamic_id_cannot_become_static(rig):
    assert rig.join(rig.new_id(), group_instance_id="i").answer.error is E.UNKNOWN_MEMBER_ID


def test_one_that_restarts_before_its_sync_still_has_to_sync(rig, static):
    generation, leader, follower = static
    rig.join(leader, group_instance_id="i1")
    rig.join(follower, group_instance_id="i2")
    rig.sync(leader, generation + 1, {leader: b"L", follower: b"F"})
    back = rig.join(group_instance_id="i2").answer.member_id
    for _ in range(8):
        rig.pass_time(8)
        rig.heartbeat(leader, generation + 1, "i1")
        rig.heartbeat(back, generation + 1, "i2")
    assert rig.members() == [leader]

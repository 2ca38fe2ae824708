from tidelog.base.errors import ErrorCode as E
from tidelog.groups.classic.messages import LeavingMember


def test_the_others_rebalance(rig):
    generation, (leader, other) = rig.stable(2)
    answer = rig.leave(leader)
    assert [(m.member_id, m.error) for m in answer.members] == [(leader, E.NONE)]
    assert rig.heartbeat(other, generation) is E.REBALANCE_IN_PROGRESS
    assert rig.join(other).answer.leader == other


def test_the_last_one_leaves_an_empty_group(rig):
    _, ids = rig.stable(2)
    assert rig.leave(*ids).error is E.NONE
    assert rig.state() == "Empty"
    assert rig.shard.durable.classic_groups["g"].members == ()
    assert rig.stable(1)[0] > 3


def test_the_answer_comes_even_if_the_empty_group_cannot_be_stored(rig):
    _, (leader,) = rig.stable(1)
    rig.log.refuse(E.NOT_ENOUGH_REPLICAS)
    assert rig.leave(leader).members[0].error is E.NONE
    assert rig.state() == "Empty"


def test_each_member_succeeds_or_fails_for_itself(rig):
    _generation, (leader, other) = rig.stable(2)
    static = rig.join(group_instance_id="i")
    rig.join(leader)
    rig.join(other)
    static_id = static.answer.member_id
    answer = rig.leave(
        LeavingMember("", "i"),
        LeavingMember(other, None, "closing"),
        LeavingMember("", "i"),
        LeavingMember("nobody"),
        LeavingMember(""),
    )
    assert [m.error for m in answer.members] == [
        E.NONE,
        E.NONE,
        E.UNKNOWN_MEMBER_ID,
        E.UNKNOWN_MEMBER_ID,
        E.UNKNOWN_MEMBER_ID,
    ]
    assert rig.members() == [leader]
    assert static_id not in rig.members()


def test_in_a_group_that_nobody_knows_each_is_a_stranger(rig):
    answer = rig.leave(LeavingMember("a"), LeavingMember("", "i"), group="unheard-of")
    assert answer.error is E.NONE
    assert answer.members == [("a", None, E.UNKNOWN_MEMBER_ID), ("", "i", E.UNKNOWN_MEMBER_ID)]


def test_an_old_process_of_a_static_member_is_fenced(rig):
    old = rig.join(group_instance_id="i").answer.member_id
    rig.sync(old, 1, {old: b"x"})
    new = rig.join(group_instance_id="i").answer.member_id
    assert rig.leave(LeavingMember(old, "i")).members[0].error is E.FENCED_INSTANCE_ID
    assert rig.leave(LeavingMember(new, "i")).members[0].error is E.NONE


def test_a_pending_id_can_leave_and_its_group_is_forgotten(rig):
    one = rig.new_id()
    assert rig.leave(one).members[0].error is E.NONE
    assert rig.shard.groups == {}
    assert rig.shard.next_deadline > rig.now + 60  # only the sweep of expired offsets is left


def test_a_leaving_pending_id_lets_the_others_go_on(rig):
    generation, (leader,) = rig.stable(1)
    pending = rig.new_id()
    rejoined = rig.join(leader)
    assert not rejoined.done
    rig.leave(pending)
    assert rejoined.answer.generation_id == generation + 1


def test_refusals(rig):
    assert rig.leave("x").members[0].error is E.UNKNOWN_MEMBER_ID
    assert rig.leave("x", group="").error is E.INVALID_GROUP_ID
    rig.stable(1)
    assert rig.leave("x").members[0].error is E.UNKNOWN_MEMBER_ID
    assert rig.state() == "Stable"


def test_a_leaving_pending_id_disturbs_no_stable_group(rig):
    generation, (leader,) = rig.stable(1)
    rig.leave(rig.new_id())
    assert rig.heartbeat(leader, generation) is E.NONE
    assert rig.state() == "Stable"

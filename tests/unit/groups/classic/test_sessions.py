from tidelog.base.errors import ErrorCode as E


def test_heartbeats_keep_a_member(rig):
    generation, (leader,) = rig.stable(1)
    for _ in range(5):
        rig.pass_time(9.9)
        assert rig.heartbeat(leader, generation) is E.NONE
    rig.pass_time(10)
    assert rig.heartbeat(leader, generation) is E.UNKNOWN_MEMBER_ID


def test_refusals(rig):
    assert rig.heartbeat("x", 1) is E.UNKNOWN_MEMBER_ID
    assert rig.heartbeat("x", 1, group="") is E.INVALID_GROUP_ID
    generation, (leader,) = rig.stable(1)
    assert rig.heartbeat("x", generation) is E.UNKNOWN_MEMBER_ID
    assert rig.heartbeat(leader, generation + 1) is E.ILLEGAL_GENERATION


def test_commits_keep_a_member_too(rig):
    generation, (leader,) = rig.stable(1)
    for _ in range(5):
        rig.pass_time(9)
        assert rig.commit(member_id=leader, generation_id_or_member_epoch=generation) is E.NONE


def test_a_silent_member_makes_the_others_rebalance(rig):
    generation, (leader, silent) = rig.stable(2)
    rig.pass_time(5)
    rig.heartbeat(leader, generation)
    rig.pass_time(5)
    assert rig.heartbeat(leader, generation) is E.REBALANCE_IN_PROGRESS
    assert rig.join(leader).answer.generation_id == generation + 1
    assert silent not in rig.members()


def test_the_last_silent_member_leaves_an_empty_group_that_is_stored(rig):
    generation, _ = rig.stable(1)
    rig.pass_time(10)
    assert rig.state() == "Empty"
    stored = rig.shard.durable.classic_groups["g"]
    assert (stored.generation, stored.members, stored.leader, stored.protocol) == (
        generation + 1,
        (),
        None,
        None,
    )
    assert stored.protocol_type == "consumer"


def test_silence_while_waiting_for_the_others_costs_nothing(rig):
    generation, (leader, other) = rig.stable(2)
    waiting = rig.join(leader)
    for _ in range(6):
        rig.pass_time(9)
        rig.heartbeat(other, generation)
    assert not waiting.done
    rig.join(other)
    assert waiting.answer.error is E.NONE
    rig.pass_time(9.9)
    assert set(rig.members()) == {leader, other}
    rig.pass_time(0.2)
    assert rig.members() == []


def test_a_member_that_dies_while_others_wait_lets_them_go_on(rig):
    generation, (leader, _) = rig.stable(2)
    rejoined = rig.join(leader)
    rig.pass_time(10)
    assert rejoined.answer.generation_id == generation + 1
    assert rig.members() == [leader]

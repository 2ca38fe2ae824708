from tidelog.base.errors import ErrorCode as E


def forming(rig, count=2):
    """Members that all joined: ids, the leader first, and the generation."""
    ids = [rig.new_id() for _ in range(count)]
    for one in ids:
        rig.join(one)
    answer = rig.join(ids[0]).answer if count > 1 else None
    generation = answer.generation_id if answer else 1
    return ids, generation


def test_followers_wait_for_the_leader(rig):
    (leader, follower), generation = forming(rig)
    waiting = rig.sync(follower, generation)
    assert not waiting.done
    mine = rig.sync(leader, generation, {leader: b"L", follower: b"F"})
    assert (mine.answer.assignment, waiting.answer.assignment) == (b"L", b"F")
    assert (mine.answer.protocol_type, mine.answer.protocol_name) == ("consumer", "range")
    assert rig.state() == "Stable"


def test_who_comes_late_gets_the_stored_assignment_and_may_ask_again(rig):
    (leader, follower), generation = forming(rig)
    rig.sync(leader, generation, {leader: b"L", follower: b"F"})
    for _ in range(2):
        assert rig.sync(follower, generation).answer.assignment == b"F"
        assert rig.sync(leader, generation, {leader: b"other"}).answer.assignment == b"L"
    assert len(rig.records) == 1


def test_members_the_leader_forgot_get_nothing_and_strangers_are_ignored(rig):
    (leader, follower), generation = forming(rig)
    rig.sync(leader, generation, {leader: b"L", "stranger": b"S"})
    assert rig.sync(follower, generation).answer == rig.sync(follower, generation).answer
    assert rig.sync(follower, generation).answer.assignment == b""
    assert [m.member_id for m in rig.shard.durable.classic_groups["g"].members] == [leader, follower]


def test_nobody_has_an_assignment_before_it_is_safe(rig):
    (leader, follower), generation = forming(rig)
    rig.log.holds = True
    waiting = [rig.sync(leader, generation, {leader: b"L", follower: b"F"}), rig.sync(follower, generation)]
    assert not any(one.done for one in waiting)
    assert rig.state() == "CompletingRebalance"
    assert rig.heartbeat(follower, generation) is E.NONE
    rig.commit_all()
    assert [one.answer.assignment for one in waiting] == [b"L", b"F"]


def test_a_join_before_the_assignment_is_safe_ends_that_generation(rig):
    (leader, follower), generation = forming(rig)
    rig.log.holds = True
    waiting = [rig.sync(leader, generation, {leader: b"L", follower: b"F"}), rig.sync(follower, generation)]
    rig.join(rig.new_id())
    assert [one.answer.error for one in waiting] == [E.REBALANCE_IN_PROGRESS] * 2
    rig.commit_all()
    assert rig.state() == "PreparingRebalance"


def test_an_assignment_that_cannot_be_stored_leads_to_a_rebalance(rig):
    (leader, follower), generation = forming(rig)
    waiting = rig.sync(follower, generation)
    rig.log.refuse(E.KAFKA_STORAGE_ERROR)
    mine = rig.sync(leader, generation, {leader: b"L"})
    assert waiting.answer.error is mine.answer.error is E.NOT_COORDINATOR
    assert rig.state() == "PreparingRebalance"
    assert rig.shard.durable.classic_groups == {}
    rig.log.refuse(None)
    joins = [rig.join(leader), rig.join(follower)]
    assert {one.answer.generation_id for one in joins} == {generation + 1}


def test_refusals(rig):
    assert rig.sync("x", 1).answer.error is E.UNKNOWN_MEMBER_ID
    assert rig.sync("x", 1, group="").answer.error is E.INVALID_GROUP_ID
    (leader,), generation = forming(rig, 1)
    assert rig.sync("x", generation).answer.error is E.UNKNOWN_MEMBER_ID
    assert rig.sync(leader, generation - 1).answer.error is E.ILLEGAL_GENERATION
    wrong_type = rig.sync(leader, generation, protocol_type="connect")
    wrong_name = rig.sync(leader, generation, protocol_name="sticky")
    assert wrong_type.answer.error is wrong_name.answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    right = rig.sync(leader, generation, {}, protocol_type="consumer", protocol_name="range")
    assert right.answer.error is E.NONE


def test_during_a_rebalance_members_are_sent_to_rejoin(rig):
    generation, (leader, follower) = rig.stable(2)
    rig.join(leader)
    assert rig.sync(follower, generation).answer.error is E.REBALANCE_IN_PROGRESS


def test_a_member_that_joins_and_never_syncs_is_removed(rig):
    (leader, follower), generation = forming(rig)
    rig.sync(leader, generation, {leader: b"L", follower: b"F"})
    for _ in range(8):
        rig.pass_time(8)
        for one in (leader, follower):
            rig.heartbeat(one, generation)
    assert rig.members() == [leader]
    assert rig.state() == "PreparingRebalance"


def test_a_leader_that_never_syncs_is_removed_and_the_follower_told(rig):
    (leader, follower), generation = forming(rig)
    waiting = rig.sync(follower, generation)
    for _ in range(8):
        rig.pass_time(8)
        rig.heartbeat(leader, generation)
    assert waiting.answer.error is E.REBALANCE_IN_PROGRESS
    assert rig.join(follower).answer.leader == follower


def test_a_retry_of_the_sync_answers_the_first_request(rig):
    (leader, follower), generation = forming(rig)
    first, second = rig.sync(follower, generation), rig.sync(follower, generation)
    assert first.answer.error is E.REBALANCE_IN_PROGRESS
    rig.sync(leader, generation, {follower: b"F"})
    assert second.answer.assignment == b"F"


def test_an_assignment_that_becomes_safe_late_does_not_end_the_next_rebalance(rig):
    (leader, follower), generation = forming(rig)
    rig.log.holds = True
    rig.sync(leader, generation, {leader: b"old", follower: b"old"})
    joins = [
        rig.join(follower, protocols=(("range", b"changed"),)),
        rig.join(leader),
    ]
    assert {join.answer.generation_id for join in joins} == {generation + 1}
    waiting = rig.sync(follower, generation + 1)
    rig.commit_all()
    assert not waiting.done
    assert rig.state() == "CompletingRebalance"
    rig.sync(leader, generation + 1, {follower: b"new"})
    assert waiting.answer.assignment == b"new"

from tidelog.base.errors import ErrorCode as E
from tidelog.groups.settings import MEMBER_METADATA_BYTES_MAX, PROTOCOLS_MAX


def test_first_member_is_told_an_id_and_leads_when_it_comes_back(rig):
    first = rig.join(client_id="app").answer
    assert first.error is E.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("app-")
    assert len(first.member_id) == len("app-") + 36
    assert rig.state() == "Empty"

    answer = rig.join(first.member_id).answer
    assert answer.error is E.NONE
    assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, first.member_id, "range")
    assert answer.protocol_type == "consumer"
    assert [(m.member_id, m.metadata) for m in answer.members] == [(first.member_id, b"meta")]
    assert rig.state() == "CompletingRebalance"
    assert rig.records == []


def test_versions_before_4_join_at_once(rig):
    assert rig.join(api_version=3).answer.generation_id == 1


def test_version_0_has_no_rebalance_timeout_so_the_session_timeout_counts(rig):
    rig.join(api_version=0, rebalance_timeout_ms=-1)
    (member,) = rig.shard.groups["g"].members.values()
    assert member.rebalance_timeout_ms == member.session_timeout_ms == 10_000


def test_second_member_waits_for_the_first_to_rejoin(rig):
    generation, (leader,) = rig.stable(1)
    other = rig.new_id()
    joining = rig.join(other)
    assert not joining.done
    assert rig.heartbeat(leader, generation) is E.REBALANCE_IN_PROGRESS
    rejoined = rig.join(leader).answer
    assert joining.answer.generation_id == rejoined.generation_id == generation + 1
    assert joining.answer.leader == rejoined.leader == leader
    assert {m.member_id for m in rejoined.members} == {leader, other}
    assert joining.answer.members == ()


def test_a_pending_member_is_awaited_until_its_session_timeout(rig):
    _, (leader, _) = rig.stable(2)
    rig.new_id(session_timeout_ms=6_000)
    rejoined = rig.join(leader)
    rig.heartbeat(rig.members()[1], 2)
    other = rig.join(rig.members()[1])
    assert not rejoined.done
    assert not other.done
    rig.pass_time(6)
    assert rejoined.answer.generation_id == other.answer.generation_id == 3


def test_a_group_made_only_of_an_unused_id_is_forgotten(rig):
    rig.new_id()
    assert rig.state() == "Empty"
    rig.pass_time(11)
    assert rig.state() == "Dead"
    assert rig.records == []


def test_who_does_not_rejoin_in_time_is_left_behind(rig):
    generation, (leader, other) = rig.stable(2)
    rejoined = rig.join(leader)
    rig.pass_time(9)
    rig.heartbeat(other, generation)  # alive, but it will not rejoin
    for _ in range(7):
        rig.pass_time(8)
        rig.heartbeat(other, generation)
    assert rejoined.answer.generation_id == generation + 1
    assert rig.members() == [leader]
    assert rig.heartbeat(other, generation) is E.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_rejoin_in_time_is_replaced(rig):
    generation, (leader, other) = rig.stable(2)
    joining = rig.join(other, protocols=(("range", b"changed"),))
    for _ in range(8):
        rig.heartbeat(leader, generation)
        rig.pass_time(8)
    assert joining.answer.leader == other
    assert [m.member_id for m in joining.answer.members] == [other]


def test_leader_that_rejoins_forces_a_rebalance_and_followers_do_not(rig):
    generation, (leader, follower) = rig.stable(2)
    assert rig.join(follower).answer.generation_id == generation
    assert rig.state() == "Stable"
    assert not rig.join(leader).done
    assert rig.state() == "PreparingRebalance"


def test_a_member_that_lost_its_join_answer_gets_it_again(rig):
    one = rig.new_id()
    first = rig.join(one).answer
    assert rig.state() == "CompletingRebalance"
    assert rig.join(one).answer == first


def test_changed_metadata_forces_a_rebalance_before_the_sync(rig):
    one = rig.new_id()
    rig.join(one)
    assert rig.join(one, protocols=(("range", b"new"),)).answer.generation_id == 2


def test_a_retry_on_another_connection_answers_the_first_request(rig):
    _, (_, follower) = rig.stable(2)
    first = rig.join(follower, protocols=(("range", b"1"),))
    second = rig.join(follower, protocols=(("range", b"1"),))
    assert first.answer.error is E.REBALANCE_IN_PROGRESS
    assert not second.done


def test_protocol_with_most_votes_wins_among_those_all_know(rig):
    one, two, three = (rig.new_id() for _ in range(3))
    both, sticky_first = (
        (("range", b"r"), ("sticky", b"s")),
        (("sticky", b"s"), ("range", b"r"), ("own", b"")),
    )
    rig.join(one, protocols=both)
    joins = [rig.join(two, protocols=sticky_first), rig.join(three, protocols=sticky_first)]
    leader = rig.join(one, protocols=both).answer
    assert leader.protocol_name == "sticky"
    assert [m.metadata for m in leader.members] == [b"s"] * 3
    assert [join.answer.protocol_name for join in joins] == ["sticky"] * 2


def test_a_member_without_a_common_protocol_is_refused(rig):
    _, (leader,) = rig.stable(1)
    assert rig.join(protocols=(("sticky", b""),)).answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert rig.join(protocol_type="connect").answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert rig.join(leader, protocols=(("sticky", b""),)).answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert rig.state() == "Stable"


def test_no_protocol_at_all_is_refused_and_leaves_no_group(rig):
    for options in ({"protocols": ()}, {"protocol_type": ""}):
        assert rig.join(**options).answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert rig.shard.groups == {}


def test_of_two_protocols_with_one_name_the_first_counts(rig):
    answer = rig.join(rig.new_id(), protocols=(("range", b"1"), ("range", b"2"))).answer
    assert [m.metadata for m in answer.members] == [b"1"]


def test_bounds(rig):
    assert rig.join(group="").answer.error is E.INVALID_GROUP_ID
    assert rig.join(session_timeout_ms=5_999).answer.error is E.INVALID_SESSION_TIMEOUT
    assert rig.join(session_timeout_ms=1_800_001).answer.error is E.INVALID_SESSION_TIMEOUT
    many = tuple((f"p{i}", b"") for i in range(PROTOCOLS_MAX + 1))
    assert rig.join(protocols=many).answer.error is E.INCONSISTENT_GROUP_PROTOCOL
    assert rig.join(protocols=many[1:]).answer.error is E.MEMBER_ID_REQUIRED
    huge = (("range", bytes(MEMBER_METADATA_BYTES_MAX + 1)),)
    assert rig.join(protocols=huge).answer.error is E.INVALID_REQUEST


def test_a_client_id_of_any_length_makes_an_id_that_can_be_stored(rig):
    one = rig.new_id(client_id="ü" * 16_000)
    rig.join(one)
    assert rig.sync(one, 1, {one: b"a"}).answer.assignment == b"a"


def test_unknown_member_ids(rig):
    assert rig.join("nobody").answer.error is E.UNKNOWN_MEMBER_ID
    rig.stable(1)
    assert rig.join("nobody").answer.error is E.UNKNOWN_MEMBER_ID


def test_group_max_size(make_rig):
    rig = make_rig(members_max=2)
    generation, ids = rig.stable(2)
    assert rig.join().answer.error is E.GROUP_MAX_SIZE_REACHED
    assert rig.heartbeat(ids[0], generation) is E.NONE
    rig.leave(ids[1])
    assert rig.join().answer.error is E.MEMBER_ID_REQUIRED


def test_the_last_to_rejoin_goes_when_the_limit_was_lowered(make_rig):
    rig = make_rig(members_max=3)
    _, ids = rig.stable(3)
    rig.shard.configure(make_rig(members_max=2).settings)
    joins = [rig.join(one) for one in ids]
    assert [join.answer.error for join in joins] == [E.NONE, E.NONE, E.GROUP_MAX_SIZE_REACHED]
    assert rig.members() == ids[:2]


def test_initial_delay_gathers_members(make_rig):
    rig = make_rig(initial_rebalance_delay_ms=3_000)
    one, two = rig.new_id(), rig.new_id()
    first = rig.join(one)
    rig.pass_time(2)
    second = rig.join(two)
    rig.pass_time(2)  # the delay of 3 s is over, but somebody came meanwhile: it starts again
    assert not first.done
    rig.pass_time(2)
    assert first.answer.generation_id == second.answer.generation_id == 1
    assert len(first.answer.members) == 2


def test_initial_delay_ends_with_the_rebalance_timeout(make_rig):
    rig = make_rig(initial_rebalance_delay_ms=3_000)
    first = rig.join(rig.new_id(rebalance_timeout_ms=7_000), rebalance_timeout_ms=7_000)
    for _ in range(6):
        rig.pass_time(1)
        rig.join(rig.new_id(), rebalance_timeout_ms=7_000)
    assert not first.done
    rig.pass_time(1)
    assert first.answer.generation_id == 1


def test_all_leave_during_the_initial_delay(make_rig):
    rig = make_rig(initial_rebalance_delay_ms=3_000)
    one = rig.new_id()
    first = rig.join(one)
    rig.leave(one)
    assert first.answer.error is E.UNKNOWN_MEMBER_ID
    rig.pass_time(3)
    assert rig.state() == "Empty"
    assert len(rig.records) == 1


def test_a_new_member_is_not_awaited_for_ever(make_rig):
    rig = make_rig(new_member_join_timeout_ms=20_000)
    generation, (leader,) = rig.stable(1)
    ghost = rig.join(api_version=3)
    for _ in range(3):
        rig.pass_time(7)
        rig.heartbeat(leader, generation)
    assert ghost.answer.error is E.UNKNOWN_MEMBER_ID
    assert rig.members() == [leader]


def test_reasons_reach_the_notes(rig):
    rig.join(rig.new_id(), reason="x" * 1000)
    (note,) = [note for note in rig.shard.take_notes() if "client reason" in note]
    assert "x" * 255 in note
    assert "x" * 256 not in note
    assert rig.shard.take_notes() == []

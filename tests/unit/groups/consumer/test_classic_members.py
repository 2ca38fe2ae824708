"""Both protocols in one group: upgrades, classic members that go on, downgrades."""

import struct

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.groups.classic.messages import LeavingMember
from tidelog.groups.consumer.embedded_protocol import read_assignment, write_assignment


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def subscription(*topics, owned=()):
    """Version 1, as a cooperative consumer writes it; `owned` are partitions of topic t."""
    parts = [struct.pack(">hi", 1, len(topics)), *map(text, topics), struct.pack(">i", -1)]
    if owned:
        parts.append(struct.pack(">i", 1) + text("t") + struct.pack(f">i{len(owned)}i", len(owned), *owned))
    else:
        parts.append(struct.pack(">i", 0))
    return (("range", b"".join(parts)),)


class ClassicConsumer:
    """A cooperative consumer of the classic protocol."""

    def __init__(self, club, member_id="", instance=None):
        self.club, self.id, self.instance, self.generation, self.owned = club, member_id, instance, -1, set()

    def join(self):
        rig = self.club.rig
        protocols = subscription("t", owned=sorted(self.owned))
        pending = rig.join(self.id, protocols=protocols, group_instance_id=self.instance)
        if not pending.done:
            return pending
        answer = pending.answer
        self.id = answer.member_id or self.id
        if answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            return self.join()
        if answer.error is ErrorCode.NONE:
            self.generation = answer.generation_id
        return answer

    def sync(self):
        answer = self.club.rig.sync(self.id, self.generation).answer
        if answer.error is ErrorCode.NONE:
            self.owned = set(read_assignment(answer.assignment).get("t", ()))
        return answer

    def beat(self):
        return self.club.rig.heartbeat(self.id, self.generation, self.instance)

    def follow(self):
        """Heartbeat, and join and sync again where it says so."""
        if self.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
            assert self.join().error is ErrorCode.NONE
            assert self.sync().error is ErrorCode.NONE

    @property
    def partitions(self):
        return [f"t{number}" for number in sorted(self.owned)]


@pytest.fixture
def classic(club):
    """A stable classic group of one member that has all of t."""
    member = ClassicConsumer(club, club.rig.new_id())
    answer = club.rig.join(member.id, protocols=subscription("t")).answer
    member.generation = answer.generation_id
    everything = write_assignment({"t": frozenset(range(4))}, 1)
    assert club.rig.sync(member.id, 1, {member.id: everything}).answer.error is ErrorCode.NONE
    member.owned = {0, 1, 2, 3}
    return member


def converge(*members):
    for _ in range(6):
        for member in members:
            member.follow()


def test_a_member_of_the_new_protocol_upgrades_the_group_while_it_runs(club, classic):
    one = club.consumer("one")
    assert club.described().error is ErrorCode.NONE
    assert one.partitions == []
    assert {member.member_type for member in club.described().members} == {0, 1}
    converge(classic, one)
    assert one.partitions == ["t2", "t3"]
    assert classic.partitions == ["t0", "t1"]
    assert club.state == "Stable"
    club.reload()
    converge(classic, one)
    assert club.state == "Stable"


def test_a_classic_member_lets_go_before_another_gets_its_partitions(club, classic):
    one = club.consumer("one")
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.join().error is ErrorCode.NONE  # still says that it owns all four
    one.follow()
    assert one.partitions == []
    assert classic.sync().error is ErrorCode.NONE
    assert classic.partitions == ["t0", "t1"]
    one.follow()
    assert one.partitions == []
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.join().error is ErrorCode.NONE
    one.follow()
    assert one.partitions == ["t2", "t3"]


def test_joins_that_wait_in_the_classic_group_are_told_to_rejoin(club, classic):
    newcomer = ClassicConsumer(club, club.rig.new_id())
    waiting = newcomer.join()
    assert not waiting.done
    one = club.consumer("one")
    assert waiting.answer.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert newcomer.join().error is ErrorCode.NONE
    assert newcomer.sync().error is ErrorCode.NONE
    converge(classic, newcomer, one)
    assert sorted(classic.partitions + newcomer.partitions + one.partitions) == ["t0", "t1", "t2", "t3"]


def test_the_last_of_the_new_protocol_downgrades_the_group_when_it_goes(club, classic):
    one = club.consumer("one")
    converge(classic, one)
    assert one.leave().error is ErrorCode.NONE
    assert club.rig.shard.durable.consumer_groups == {}
    assert club.rig.state() == "PreparingRebalance"
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert classic.join().leader == classic.id
    assert club.rig.sync(classic.id, classic.generation, {classic.id: b"x"}).answer.assignment == b"x"
    assert club.rig.state() == "Stable"
    club.rig.reload()
    assert club.rig.state() == "Stable"
    assert club.rig.heartbeat(classic.id, classic.generation) is ErrorCode.NONE


def test_a_downgrade_by_silence_keeps_sessions_running(club, classic):
    club.consumer("one")
    for _ in range(5):
        club.rig.pass_time(8)
        classic.follow()
    club.rig.pass_time(6)
    assert club.rig.state() == "PreparingRebalance"
    club.rig.pass_time(70)
    assert club.rig.state() == "Empty"


def test_a_static_member_that_returns_with_the_classic_protocol_downgrades(club):
    one = club.consumer("one", instance_id="i1")
    other = ClassicConsumer(club)
    other.join()
    converge(one)
    back = ClassicConsumer(club, instance="i1")
    assert back.join().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert sorted(club.rig.members()) == sorted([other.id, back.id])
    assert one.follow().error is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_static_member_moves_to_the_new_protocol_under_its_instance(club):
    first = ClassicConsumer(club, instance="i1")
    pending = first.join()
    first.generation = pending.generation_id
    everything = write_assignment({"t": frozenset(range(4))}, 1)
    club.rig.sync(first.id, first.generation, {first.id: everything}, group_instance_id="i1")
    one = club.consumer("one", instance_id="i1")
    assert one.partitions == ["t0", "t1", "t2", "t3"]
    assert first.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert [member.member_id for member in club.described().members] == ["one"]


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_without_leave_to_upgrade_the_group_stays_classic(make_club, policy):
    club = make_club({"consumer_migration_policy": policy}, t=4)
    club.rig.stable(1, protocols=subscription("t"))
    assert club.consumer("one").join().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.state() == "Stable"


def test_groups_of_other_protocols_cannot_be_upgraded(club):
    club.rig.stable(1, protocols=(("p", b"x"),), protocol_type="connect")
    assert club.consumer("one").join().error is ErrorCode.GROUP_ID_NOT_FOUND


def test_members_whose_subscription_cannot_be_read_stop_the_upgrade(club):
    club.rig.stable(1, protocols=(("range", b"?"),))
    answer = club.consumer("one").join()
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.state() == "Stable"


def test_empty_groups_change_either_way_and_keep_their_offsets(club):
    club.rig.commit("t", 0, 7)
    one = club.consumer("one")
    assert club.rig.committed("t", 0) == 7
    assert club.state == "Stable"
    one.leave()
    club.rig.new_id(protocols=subscription("t"))
    assert club.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.state() == "Empty"
    assert club.rig.committed("t", 0) == 7
    again = club.consumer("two")
    assert len(again.partitions) == 4
    club.reload()
    assert again.follow().error is ErrorCode.NONE
    assert club.rig.committed("t", 0) == 7


def test_classic_members_that_do_not_rejoin_or_sync_are_removed(club, classic):
    one = club.consumer("one")
    for _ in range(13):
        classic.beat()
        one.follow()
        club.rig.pass_time(5)
    assert classic.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    one.follow()
    assert len(one.partitions) == 4
    lazy = ClassicConsumer(club)
    lazy.join()
    for _ in range(13):
        lazy.beat()
        one.follow()
        club.rig.pass_time(5)
    assert lazy.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_classic_requests_are_refused(club, classic):
    one = club.consumer("one")
    rig = club.rig
    assert rig.heartbeat("one", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert rig.heartbeat(classic.id, 9) is ErrorCode.ILLEGAL_GENERATION
    assert rig.sync(classic.id, 9).answer.error is ErrorCode.ILLEGAL_GENERATION
    assert rig.sync(classic.id, classic.generation).answer.error is ErrorCode.REBALANCE_IN_PROGRESS
    wrong = rig.sync(classic.id, classic.generation, protocol_name="sticky").answer
    assert wrong.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    stranger = subscription("t")[0][1]
    assert (
        rig.join("x", protocols=(("sticky", stranger),)).answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    assert rig.join("x", protocols=(("range", b"?"),)).answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    connect = rig.join("x", protocols=subscription("t"), protocol_type="connect")
    assert connect.answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    left = rig.leave("one", LeavingMember("", "nobody"), classic.id)
    assert [member.error for member in left.members] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
    ]
    one.follow()
    assert len(one.partitions) == 4


def test_commits_of_classic_members_use_their_generation(club, classic):
    club.consumer("one")
    commit = club.rig.commit
    assert commit(
        "t", 0, 5, member_id=classic.id, generation_id_or_member_epoch=classic.generation, api_version=7
    ) is (ErrorCode.NONE)
    stale = commit("t", 0, 5, member_id=classic.id, generation_id_or_member_epoch=99)
    assert stale is ErrorCode.ILLEGAL_GENERATION


def test_a_deadline_from_before_a_downgrade_is_forgotten(club, classic):
    one = club.consumer("one")
    for _ in range(11):  # from the first on it has 60 s to rejoin
        assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        one.follow()
        club.rig.pass_time(5)
    one.leave()
    assert classic.join().error is ErrorCode.NONE
    everything = write_assignment({"t": frozenset(range(4))}, 1)
    club.rig.sync(classic.id, classic.generation, {classic.id: everything})
    club.consumer("two")
    club.rig.pass_time(6)
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_that_gave_way_while_the_log_failed_goes_on(club):
    club.consumer("one").leave()
    club.rig.log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    club.rig.new_id(protocols=subscription("t"))
    club.rig.log.refuse(None)
    classic = ClassicConsumer(club)
    assert classic.join().error is ErrorCode.NONE
    assert club.rig.sync(classic.id, classic.generation, {classic.id: b"x"}).answer.error is ErrorCode.NONE
    club.reload()
    assert club.rig.state() == "Stable"
    assert club.rig.heartbeat(classic.id, classic.generation) is ErrorCode.NONE


def test_classic_members_join_again_once_the_next_assignment_is_due(make_club):
    club = make_club(broker={"group.consumer.assignment.interval.ms": 1000})
    one = club.consumer("one")
    classic = ClassicConsumer(club)
    assert classic.join().error is ErrorCode.NONE
    assert classic.sync().error is ErrorCode.NONE, "it does not join again and again meanwhile"
    assert (classic.generation, classic.partitions) == (1, [])
    assert classic.beat() is ErrorCode.NONE
    club.rig.pass_time(1)
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    converge(classic, one)
    assert (classic.partitions, one.partitions) == (["t2", "t3"], ["t0", "t1"])
    assert club.state == "Stable"

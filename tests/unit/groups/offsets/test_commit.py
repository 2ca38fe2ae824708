from tidelog.base.errors import ErrorCode as E
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic


def test_a_consumer_outside_any_group_commits(rig):
    assert rig.commit(offset=7) is E.NONE
    assert rig.committed() == 7
    assert rig.state() == "Empty"
    assert rig.shard.describe("g").protocol_type == ""
    rig.reload()
    assert rig.committed() == 7
    assert rig.state() == "Empty"


def test_everything_about_a_commit_is_kept(rig):
    rig.commit(partition=3, offset=9, metadata="why")
    committed = rig.shard.durable.offsets.get("g", "orders", 3)
    assert committed == (9, 3, "why", rig.now_ms, -1)


def test_no_answer_and_no_failure_before_the_commit_is_safe(rig):
    rig.log.holds = True
    assert rig.commit() is None
    rig.commit_all()
    rig.log.refuse(E.NOT_ENOUGH_REPLICAS)
    assert rig.commit(offset=99) is E.COORDINATOR_NOT_AVAILABLE
    assert rig.committed() == 5


def test_a_failed_first_commit_leaves_no_group(rig):
    rig.log.refuse(E.REQUEST_TIMED_OUT)
    assert rig.commit() is E.COORDINATOR_NOT_AVAILABLE
    assert rig.shard.groups == {}


def test_an_unknown_group_with_a_generation(rig):
    assert rig.commit(generation_id_or_member_epoch=1, member_id="m", api_version=9) is E.GROUP_ID_NOT_FOUND
    assert rig.commit(generation_id_or_member_epoch=1, member_id="m", api_version=8) is E.ILLEGAL_GENERATION


def test_members_of_the_generation_commit_and_nobody_else(rig):
    generation, (leader, _) = rig.stable(2)
    assert rig.commit(member_id=leader, generation_id_or_member_epoch=generation) is E.NONE
    assert rig.commit(member_id=leader, generation_id_or_member_epoch=generation - 1) is E.ILLEGAL_GENERATION
    assert rig.commit(member_id=leader) is E.ILLEGAL_GENERATION
    assert rig.commit(member_id="x", generation_id_or_member_epoch=generation) is E.UNKNOWN_MEMBER_ID
    assert rig.commit() is E.UNKNOWN_MEMBER_ID
    static = {"group_instance_id": "i", "generation_id_or_member_epoch": generation}
    assert rig.commit(member_id=leader, **static) is E.UNKNOWN_MEMBER_ID


def test_an_admin_may_set_offsets_once_the_group_is_empty(rig):
    _, ids = rig.stable(1)
    rig.leave(*ids)
    assert rig.commit(offset=1) is E.NONE
    assert rig.commit(generation_id_or_member_epoch=9, member_id="x") is E.UNKNOWN_MEMBER_ID


def test_commits_during_a_rebalance(rig):
    generation, (leader, follower) = rig.stable(2)
    rig.join(leader)
    assert rig.state() == "PreparingRebalance"
    assert rig.commit(member_id=follower, generation_id_or_member_epoch=generation) is E.NONE
    rig.join(follower)
    assert rig.state() == "CompletingRebalance"
    now = {"member_id": follower, "generation_id_or_member_epoch": generation + 1}
    assert rig.commit(**now) is E.REBALANCE_IN_PROGRESS
    rig.sync(leader, generation + 1, {})
    assert rig.commit(**now) is E.NONE


def test_metadata_too_large_fails_that_partition_only(rig):
    partitions = (
        CommitPartition(0, 1, -1, "x" * 4097),
        CommitPartition(1, 2, -1, "x" * 4096),
        CommitPartition(2, 3),
    )
    request = CommitRequest("g", (CommitTopic("orders", partitions),))
    (topic,) = rig.run(rig.shard.commit(request, rig.now, rig.now_ms)).answer
    assert [one.error for one in topic.partitions] == [E.OFFSET_METADATA_TOO_LARGE, E.NONE, E.NONE]
    assert [rig.committed(partition=p) for p in range(3)] == [-1, 2, 3]


def test_several_requests_can_be_gathered_into_one_append(rig):
    requests = [
        CommitRequest("g", (CommitTopic("orders", (CommitPartition(0, offset),)),)) for offset in range(3)
    ]
    outcomes = [rig.shard.commit(request, rig.now, rig.now_ms) for request in requests]
    assert rig.shard.groups == {}
    for outcome in outcomes:
        rig.run(outcome)
    assert rig.committed() == 2


def test_a_client_that_asks_for_a_retention_of_its_own(make_rig):
    rig = make_rig(offsets_retention_check_interval_ms=1_000)
    rig.commit(retention_time_ms=5_000, api_version=4)
    rig.pass_time(4)
    assert rig.committed() == 5
    rig.reload()
    rig.pass_time(2)
    assert rig.committed() == -1


def test_a_retention_beyond_the_end_of_time_is_no_retention(make_rig):
    rig = make_rig(offsets_retention_check_interval_ms=1_000)
    rig.commit(retention_time_ms=2**63 - 1, api_version=4)
    rig.reload()
    rig.pass_time(10)
    assert rig.committed() == 5

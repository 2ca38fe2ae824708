"""Committed offsets of streams groups: by whom, at which epoch, and how long."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic, FetchGroup
from tidelog.groups.offsets.transactional_commit import TransactionalCommit


def commit(team, instance, partition=0, topic="lines", **options):
    member = {"member_id": instance.id, "generation_id_or_member_epoch": instance.epoch} | options
    return team.rig.commit(topic, partition, **member)


def test_a_member_commits_at_its_epoch(team):
    one = team.instance("one")
    assert commit(team, one) is ErrorCode.NONE
    assert commit(team, one, generation_id_or_member_epoch=9) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(team, one, member_id="who") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(team, one, api_version=8) is ErrorCode.UNSUPPORTED_VERSION
    assert commit(team, one, generation_id_or_member_epoch=-1, member_id="") is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_older_epoch_may_commit_for_tasks_that_it_had_since_then(team):
    one, two = team.instance("one"), team.instance("two")
    old = one.epoch
    team.converge(one, two)
    assert (one.tasks, one.epoch > old) == (["0_0", "1_0"], True)
    assert commit(team, one, 0, generation_id_or_member_epoch=old) is ErrorCode.NONE
    assert commit(team, one, 0, "words", generation_id_or_member_epoch=old) is ErrorCode.NONE
    assert commit(team, one, 1, generation_id_or_member_epoch=old) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(team, one, 0, "else", generation_id_or_member_epoch=old) is ErrorCode.STALE_MEMBER_EPOCH
    # The second has its tasks only since its newest epoch.
    assert commit(team, two, 1, generation_id_or_member_epoch=old) is ErrorCode.STALE_MEMBER_EPOCH
    team.reload()
    assert commit(team, one, 0, generation_id_or_member_epoch=old) is ErrorCode.NONE


def test_a_zombie_does_not_commit_in_a_transaction(team):
    one, two = team.instance("one"), team.instance("two")
    old = one.epoch
    team.converge(one, two)

    def answer(partition, epoch):
        topics = (CommitTopic("lines", (CommitPartition(partition, 5),)),)
        request = TransactionalCommit(CommitRequest("g", topics, epoch, "one"), 7, 0)
        outcome = team.rig.shard.commit_in_transaction(request, team.rig.now, team.rig.now_ms)
        return team.rig.run(outcome).answer[0].partitions[0].error

    assert answer(0, old) is ErrorCode.NONE
    assert answer(1, old) is ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("one", 2, ErrorCode.NONE),
        ("one", 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("who", 2, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_read_the_offsets(team, member_id, epoch, error):
    team.instance("one")
    assert team.rig.shard.fetch(FetchGroup("g", None, member_id, epoch)).error is error


def test_offsets_of_topics_that_are_read_are_kept(team):
    one = team.instance("one")
    commit(team, one)
    group = team.rig.shard.groups["g"]
    assert group.is_subscribed("lines")
    assert group.is_subscribed("words")
    assert not group.is_subscribed("counts")
    one.leave()
    assert not group.is_subscribed("lines")
    team.rig.pass_time(8 * 24 * 3600)
    assert team.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert team.rig.committed("lines") == -1


def test_only_an_empty_group_is_deleted_with_all_its_records(team):
    one = team.instance("one")
    commit(team, one)

    def delete():
        outcome = team.rig.shard.delete_groups(["g"], team.rig.now, team.rig.now_ms)
        return team.rig.run(outcome).answer[0].error

    assert delete() is ErrorCode.NON_EMPTY_GROUP
    one.leave()
    assert delete() is ErrorCode.NONE
    assert not team.rig.shard.groups
    last = dict(team.rig.records)
    assert set(last.values()) == {None}
    team.reload()
    assert not team.rig.shard.groups

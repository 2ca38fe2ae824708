"""A group id has one kind of group: what clients with another protocol get, and how the group is shown."""

from tests.unit.groups.share.conftest import topic_id
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.messages import HeartbeatRequest as ConsumerHeartbeat
from tidelog.groups.offsets.messages import CommitPartition, CommitRequest, CommitTopic, DeleteTopic
from tidelog.groups.offsets.transactional_commit import TransactionalCommit


def consumer_join(crew):
    request = ConsumerHeartbeat(
        "g", "c", 0, subscribed_topic_names=("t",), rebalance_timeout_ms=1000, topic_partitions=()
    )
    return crew.rig.run(crew.rig.shard.consumer_heartbeat(request, *crew.now)).answer


def test_listed_and_described(crew):
    one = crew.newcomer("one", rack_id="r")
    one.join()
    one.beat(client_id="app", client_host="/10.0.0.1")
    [listed] = crew.rig.shard.list_groups(types=["Share"])
    assert tuple(listed) == ("g", "share", "Stable", "share")
    assert not crew.rig.shard.list_groups(types=["consumer", "classic", "streams"])
    assert not crew.rig.shard.list_groups(states=["empty"])
    described = crew.described()
    assert (described.group_epoch, described.assignment_epoch) == (2, 2)
    [member] = described.members
    assert (member.member.client_id, member.member.rack_id, member.member_epoch) == ("app", "r", 2)
    assert member.assignment == one.assigned
    assert described.topic_names == {topic_id("t"): "t"}
    assert crew.rig.state() == "Dead"  # to DescribeGroups
    assert crew.rig.shard.consumer_describe("g").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.rig.shard.streams_describe("g").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.rig.shard.share_describe("other").error is ErrorCode.GROUP_ID_NOT_FOUND


def test_members_of_other_protocols_are_refused(crew):
    one = crew.worker("one")
    assert crew.rig.join().answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert crew.rig.sync("one", one.epoch).answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert crew.rig.heartbeat("one", one.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert crew.rig.leave("one").members[0].error is ErrorCode.UNKNOWN_MEMBER_ID
    assert consumer_join(crew).error is ErrorCode.GROUP_ID_NOT_FOUND
    one.leave()  # not even an empty one gives way: its share state would stay behind
    assert crew.rig.join().answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert consumer_join(crew).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.described().group_state == "Empty"


def test_it_has_no_committed_offsets(crew):
    crew.worker("one").leave()
    assert crew.rig.commit("t") is ErrorCode.GROUP_ID_NOT_FOUND
    commit = CommitRequest("g", (CommitTopic("t", (CommitPartition(0, 5, 3, ""),)),))
    in_transaction = crew.rig.shard.commit_in_transaction(TransactionalCommit(commit, 7, 0), *crew.now)
    assert crew.rig.run(in_transaction).answer[0].partitions[0].error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.rig.committed("t") == -1
    deletion = crew.rig.shard.delete_offsets("g", [DeleteTopic("t", [0])], *crew.now)
    assert crew.rig.run(deletion).answer.error is ErrorCode.GROUP_ID_NOT_FOUND


def test_groups_of_other_kinds_are_no_share_groups(crew):
    _, [member] = crew.rig.stable(1)
    refused = crew.newcomer("one").join()
    assert (refused.error, refused.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a share group.",
    )
    crew.rig.leave(member)
    assert crew.newcomer("one").join().error is ErrorCode.GROUP_ID_NOT_FOUND
    consumer_join(crew)
    assert crew.newcomer("one").join().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.newcomer("one").beat(1).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert crew.described().error_message == "Group g is not a share group."

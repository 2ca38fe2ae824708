"""A group id has one kind of group: what others get that come with another protocol, and how it is shown."""

from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.messages import HeartbeatRequest as ConsumerHeartbeat


def consumer_join(team):
    request = ConsumerHeartbeat(
        "g", "c", 0, subscribed_topic_names=("lines",), rebalance_timeout_ms=1000, topic_partitions=()
    )
    return team.rig.run(team.rig.shard.consumer_heartbeat(request, team.rig.now, team.rig.now_ms)).answer


def test_listed_and_described(team):
    team.instance("one", client_id="app", client_host="/10.0.0.1", endpoint=("here", 80))
    [listed] = team.rig.shard.list_groups(types=["Streams"])
    assert tuple(listed) == ("g", "streams", "Stable", "streams")
    assert not team.rig.shard.list_groups(types=["consumer", "classic"])
    described = team.described()
    assert (described.group_epoch, described.assignment_epoch, described.topology_epoch) == (2, 2, 0)
    assert [part.subtopology_id for part in described.subtopologies] == ["0", "1"]
    [changelog] = described.subtopologies[1].state_changelog_topics
    assert (changelog.name, changelog.partitions) == ("counts", 2)
    [member] = described.members
    assert (member.member.client_id, member.member.endpoint) == ("app", ("here", 80))
    assert member.assignment == member.target_assignment != {}
    assert team.rig.state() == "Dead"  # to DescribeGroups
    assert team.rig.shard.consumer_describe("g").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert team.rig.shard.streams_describe("other").error is ErrorCode.GROUP_ID_NOT_FOUND


def test_members_of_other_protocols_are_refused(team):
    one = team.instance("one")
    assert team.rig.join().answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert team.rig.sync("one", one.epoch).answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert team.rig.heartbeat("one", one.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert team.rig.leave("one").members[0].error is ErrorCode.UNKNOWN_MEMBER_ID
    assert consumer_join(team).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert team.state == "Stable"


def test_an_empty_streams_group_gives_way_to_a_classic_one(team):
    team.instance("one").leave()
    assert consumer_join(team).error is ErrorCode.GROUP_ID_NOT_FOUND
    member = team.rig.new_id()
    team.rig.join(member)
    assert team.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    team.reload()


def test_an_empty_classic_group_gives_way_and_one_with_members_does_not(team):
    _, [member] = team.rig.stable(1)
    refused = team.newcomer("one").join()
    assert (refused.error, refused.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group g is not a streams group.",
    )
    team.rig.commit("lines", 0, 7, member_id=member, generation_id_or_member_epoch=1)
    team.rig.leave(member)
    assert team.newcomer("one").beat(3).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert len(team.instance("one").tasks) == 4
    assert team.rig.committed("lines") == 7
    team.reload()
    assert team.state == "Stable"


def test_a_group_of_consumers_is_not_a_streams_group(team):
    consumer_join(team)
    assert team.newcomer("one").join().error is ErrorCode.GROUP_ID_NOT_FOUND

"""Commits and fetches with member epochs, and what becomes of the offsets of a group of the new kind."""

from tidelog.base.errors import ErrorCode
from tidelog.groups.offsets.messages import DeleteTopic, FetchGroup


def commit(club, member_id, epoch, **options):
    return club.rig.commit("t", 0, 5, member_id=member_id, generation_id_or_member_epoch=epoch, **options)


def fetch_error(club, member_id, epoch):
    return club.rig.shard.fetch(FetchGroup("g", None, member_id, epoch)).error


def test_commits_need_the_epoch_of_the_member(club):
    club.consumer("one")
    assert commit(club, "one", 1) is ErrorCode.NONE
    assert commit(club, "one", 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(club, "one", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(club, "two", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(club, "", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(club, "one", 1, api_version=8) is ErrorCode.UNSUPPORTED_VERSION
    assert club.rig.committed("t", 0) == 5


def test_anybody_may_commit_to_an_empty_group(club):
    club.consumer("one").leave()
    assert commit(club, "", -1) is ErrorCode.NONE
    assert commit(club, "one", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_fetches_with_a_member_id_need_its_epoch(club):
    club.consumer("one")
    assert fetch_error(club, None, -1) is ErrorCode.NONE
    assert fetch_error(club, "one", 1) is ErrorCode.NONE
    assert fetch_error(club, "one", 3) is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch_error(club, "two", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_topics_in_use_are_not_deleted(club):
    one = club.consumer("one")
    commit(club, "one", 1)
    rig = club.rig
    wanted = [DeleteTopic("t", (0,)), DeleteTopic("u", (0,))]
    answer = rig.run(rig.shard.delete_offsets("g", wanted, rig.now, rig.now_ms)).answer
    codes = [topic.partitions[0].error for topic in answer.topics]
    assert codes == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]
    assert (
        rig.run(rig.shard.delete_groups(["g"], rig.now, rig.now_ms)).answer[0].error
        is ErrorCode.NON_EMPTY_GROUP
    )
    one.leave()
    assert rig.run(rig.shard.delete_groups(["g"], rig.now, rig.now_ms)).answer[0].error is ErrorCode.NONE
    assert rig.shard.durable.consumer_groups == {}
    assert rig.committed("t", 0) == -1
    rig.reload()
    assert rig.shard.groups == {}


def test_an_empty_group_without_offsets_is_swept_away(club):
    one = club.consumer("one")
    commit(club, "one", 1)
    one.leave()
    club.rig.pass_time(6 * 24 * 3600)
    assert club.state == "Empty"
    club.rig.pass_time(2 * 24 * 3600)
    assert club.described().error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.shard.durable.consumer_groups == {}


def test_listing_and_describing(club):
    one = club.consumer("one", rack_id="r", client_id="c", client_host="/10.0.0.1")
    assert [(g.group_id, g.protocol_type, g.group_state) for g in club.rig.shard.list_groups()] == [
        ("g", "consumer", "Stable")
    ]
    assert club.rig.shard.list_groups(types=["classic"]) == []
    assert len(club.rig.shard.list_groups(types=["consumer"], states=["stable"])) == 1
    (member,) = club.described().members
    assert (member.member_id, member.rack_id, member.member_epoch, member.member_type) == ("one", "r", 1, 1)
    assert member.assignment == member.target_assignment == one.owned
    assert list(club.described().topic_names.values()) == ["t"]
    assert club.rig.shard.describe("g").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert club.rig.shard.consumer_describe("other").error is ErrorCode.GROUP_ID_NOT_FOUND

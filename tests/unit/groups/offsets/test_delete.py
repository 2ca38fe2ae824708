from tidelog.base.errors import ErrorCode as E
from tidelog.groups.offsets.messages import DeleteTopic


def delete(rig, *topics, group="g"):
    return rig.run(rig.shard.delete_offsets(group, topics, rig.now, rig.now_ms)).answer


def delete_groups(rig, *groups):
    answer = rig.run(rig.shard.delete_groups(groups, rig.now, rig.now_ms)).answer
    return [one.error for one in answer]


def test_offsets_of_an_empty_group(rig):
    rig.commit(partition=0)
    rig.commit(partition=1)
    answer = delete(rig, DeleteTopic("orders", (1, 7)))
    assert [(one.partition_index, one.error) for one in answer.topics[0].partitions] == [
        (1, E.NONE),
        (7, E.NONE),
    ]
    assert (rig.committed(partition=0), rig.committed(partition=1)) == (5, -1)
    assert len(rig.records) == 3


def test_topics_that_members_read_are_protected(rig, subscription):
    generation, (leader,) = rig.stable(1, protocols=subscription("orders"))
    for topic in ("orders", "old"):
        rig.commit(topic, member_id=leader, generation_id_or_member_epoch=generation)
    answer = delete(rig, DeleteTopic("orders", (0,)), DeleteTopic("old", (0,)))
    assert [topic.partitions[0].error for topic in answer.topics] == [E.GROUP_SUBSCRIBED_TO_TOPIC, E.NONE]
    assert (rig.committed("orders"), rig.committed("old")) == (5, -1)


def test_with_a_subscription_nobody_can_read_everything_is_protected(rig):
    rig.stable(1)
    answer = delete(rig, DeleteTopic("orders", (0,)))
    assert answer.topics[0].partitions[0].error is E.GROUP_SUBSCRIBED_TO_TOPIC


def test_refusals(rig):
    assert delete(rig, group="nobody").error is E.GROUP_ID_NOT_FOUND
    rig.stable(1, protocol_type="connect")
    assert delete(rig).error is E.NON_EMPTY_GROUP


def test_a_failed_append_changes_nothing(rig):
    rig.commit()
    rig.log.refuse(E.NOT_LEADER_OR_FOLLOWER)
    assert delete(rig, DeleteTopic("orders", (0,))).error is E.NOT_COORDINATOR
    assert delete_groups(rig, "g") == [E.NOT_COORDINATOR]
    assert rig.committed() == 5


def test_deleting_groups(rig):
    rig.commit(group="simple")
    rig.stable(1)
    errors = delete_groups(rig, "simple", "nobody", "g", "simple")
    assert errors == [E.NONE, E.GROUP_ID_NOT_FOUND, E.NON_EMPTY_GROUP]
    assert rig.committed(group="simple") == -1
    assert rig.state("simple") == "Dead"
    rig.leave(*rig.members())
    assert delete_groups(rig, "g") == [E.NONE]
    rig.reload()
    assert rig.shard.groups == {}


def test_a_member_that_comes_back_to_a_deleted_group_starts_anew(rig):
    rig.commit()
    pending = rig.new_id()
    assert delete_groups(rig, "g") == [E.NONE]
    assert rig.join(pending).answer.error is E.UNKNOWN_MEMBER_ID
    assert rig.stable(1)[0] == 1


def test_offsets_go_with_their_topic(rig):
    for group in ("g", "h"):
        rig.commit("orders", 0, group=group)
        rig.commit("kept", 0, group=group)
    for outcome in rig.shard.delete_topics(["orders", "never"], rig.now, rig.now_ms):
        rig.run(outcome)
    assert [rig.committed("orders", group=group) for group in "gh"] == [-1, -1]
    assert [rig.committed("kept", group=group) for group in "gh"] == [5, 5]
    assert rig.shard.delete_topics(["never"], rig.now, rig.now_ms) == []

from tidelog.base.errors import ErrorCode as E
from tidelog.groups.offsets.messages import FetchGroup, FetchTopic


def test_named_partitions_in_the_order_asked_for(rig):
    rig.commit(partition=1, offset=11, metadata="m")
    fetched = rig.shard.fetch(FetchGroup("g", (FetchTopic("orders", (2, 1)), FetchTopic("none", (0,)))))
    assert fetched.error is E.NONE
    assert [topic.name for topic in fetched.topics] == ["orders", "none"]
    missing, found = fetched.topics[0].partitions
    assert missing == (2, -1, -1, "", E.NONE)
    assert found == (1, 11, 3, "m", E.NONE)


def test_all_topics(rig):
    rig.commit("a", 0, 1)
    rig.commit("b", 4, 2)
    fetched = rig.shard.fetch(FetchGroup("g"))
    assert {
        (t.name, p.partition_index, p.committed_offset) for t in fetched.topics for p in t.partitions
    } == {
        ("a", 0, 1),
        ("b", 4, 2),
    }


def test_an_unknown_group_has_committed_nothing(rig):
    assert rig.shard.fetch(FetchGroup("nobody")).topics == []
    assert rig.committed(group="nobody") == -1

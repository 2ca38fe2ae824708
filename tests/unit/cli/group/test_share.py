"""A share group as the group commands show it."""

from tidelog.cli.group.share import share_info
from tidelog.clients.admin.results import Node
from tidelog.wire.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

NODE = Node(1, "here", 9092)


def test_members_are_shown_with_their_partitions():
    assignment = Assignment(topic_partitions=[TopicPartitions(bytes(16), "jobs", [2, 0])])
    group = DescribedGroup(
        group_id="workers",
        group_state="Stable",
        assignor_name="simple",
        members=[
            Member(member_id="m2", client_id="c", client_host="/10.0.0.2"),
            Member(member_id="m1", client_id="c", client_host="/10.0.0.1", assignment=assignment),
        ],
    )
    info = share_info(NODE, group)
    assert (info.name, info.state, info.type, info.assignor) == ("workers", "Stable", "Share", "simple")
    first, second = info.members
    assert (first.member_id, first.host, second.assignment) == ("m1", "10.0.0.1", ())
    assert first.assignment == (("jobs", 0), ("jobs", 2))

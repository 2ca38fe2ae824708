"""A streams group as the group commands show it: tasks are the partitions that they read."""

from tidelog.cli.group.streams import streams_info
from tidelog.clients.admin.results import Node
from tidelog.wire.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

NODE = Node(1, "here", 9092)


def test_active_tasks_are_shown_as_partitions():
    active = Assignment(
        active_tasks=[TaskIds("0", [0, 2]), TaskIds("9", [0])], standby_tasks=[TaskIds("0", [1])]
    )
    part = Subtopology("0", ["a", "small"], repartition_source_topics=[TopicInfo("r")])
    group = DescribedGroup(
        group_id="app",
        group_state="NotReady",
        topology=Topology(0, [part]),
        members=[
            Member(member_id="m2", client_id="c", client_host="/10.0.0.2"),
            Member(member_id="m1", client_id="c", client_host="/10.0.0.1", assignment=active),
        ],
    )
    info = streams_info(NODE, group, {"a": 3, "small": 1, "r": 3})
    assert (info.name, info.state, info.type, info.assignor) == ("app", "NotReady", "Streams", "sticky")
    first, second = info.members
    assert (first.member_id, first.host) == ("m1", "10.0.0.1")
    assert first.assignment == (("a", 0), ("a", 2), ("r", 0), ("r", 2), ("small", 0))
    assert second.assignment == ()


def test_a_group_without_a_topology():
    assert streams_info(NODE, DescribedGroup(group_id="app"), {}).members == ()

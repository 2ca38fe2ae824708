"""How many partitions internal topics get, and which topics do not fit together."""

import pytest

from tidelog.groups.record_formats.streams_group import new_topology
from tidelog.groups.streams.messages import StatusCode
from tidelog.groups.streams.partition_counts import NotConfigurable, decide_counts
from tidelog.wire.messages.streams_group_heartbeat import CopartitionGroup, Subtopology, TopicInfo


def decided(*parts, **existing):
    return decide_counts(new_topology(0, list(parts)), existing.get)


def test_a_repartition_topic_has_as_many_as_the_largest_source():
    first = Subtopology("0", ["a", "b"], repartition_sink_topics=["r"])
    second = Subtopology(
        "1", repartition_source_topics=[TopicInfo("r")], state_changelog_topics=[TopicInfo("c")]
    )
    assert decided(second, first, a=2, b=5) == {"r": 5, "c": 5}


def test_counts_go_through_a_chain_of_parts():
    parts = [
        Subtopology("2", repartition_source_topics=[TopicInfo("s")], state_changelog_topics=[TopicInfo("c")]),
        Subtopology("1", repartition_source_topics=[TopicInfo("r")], repartition_sink_topics=["s"]),
        Subtopology("0", ["a"], repartition_sink_topics=["r"]),
    ]
    assert decided(*parts, a=3) == {"r": 3, "s": 3, "c": 3}


def test_the_application_may_say_how_many():
    first = Subtopology("0", ["a"], repartition_sink_topics=["r"])
    second = Subtopology("1", repartition_source_topics=[TopicInfo("r", 7)])
    assert decided(first, second, a=2) == {"r": 7}


def joined(*fixed, sources=("a",)):
    """A part that joins the topics of others with repartition topics of its own."""
    topics = [TopicInfo(f"r{n}", count) for n, count in enumerate(fixed)]
    group = CopartitionGroup(
        source_topics=list(range(len(sources))), repartition_source_topics=list(range(len(topics)))
    )
    return Subtopology(
        "1", list(sources), repartition_source_topics=topics, copartition_groups=[group]
    ), Subtopology("0", ["b"], repartition_sink_topics=[topic.name for topic in topics])


def test_what_is_joined_has_as_many_as_the_topic_of_others():
    assert decided(*joined(0), a=4, b=2) == {"r0": 4}


def test_joined_repartition_topics_have_as_many_as_the_largest():
    assert decided(*joined(0, 6, sources=()), b=2) == {"r0": 6, "r1": 6}
    assert decided(*joined(0, 0, sources=()), b=2) == {"r0": 2, "r1": 2}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (joined(3), r"Number of partitions \[3\] of repartition topic \[r0\]"),
        (joined(sources=("a", "b")), r"do not have the same number of partitions: \[\{a=4, b=2\}\]"),
        (joined(3, 4, sources=()), r"do not have the same number of partitions: \[\{r0=3, r1=4\}\]"),
    ],
)
def test_what_cannot_be_joined(parts, words):
    with pytest.raises(NotConfigurable, match=words):
        decided(*parts, a=4, b=2)


def test_the_longest_chain_is_counted_at_once():
    """From its end to its beginning, it took as many rounds as it has parts: a broker stood still."""
    chain = [
        Subtopology(
            str(n), repartition_source_topics=[TopicInfo(f"r{n - 1}")], repartition_sink_topics=[f"r{n}"]
        )
        for n in range(9_999, 0, -1)
    ]
    counts = decided(*chain, Subtopology("0", ["a"], repartition_sink_topics=["r0"]), a=3)
    assert set(counts.values()) == {3}
    assert len(counts) == 10_000


def test_each_copartition_group_looks_at_its_own_topics_only():
    topics = [TopicInfo(f"r{n}", 3) for n in range(20_000)]
    groups = [CopartitionGroup(source_topics=[], repartition_source_topics=[n]) for n in range(20_000)]
    part = Subtopology("0", repartition_source_topics=topics, copartition_groups=groups)
    assert len(decided(part)) == 20_000


def test_a_group_has_no_more_tasks_than_anybody_could_run(make_team):
    parts = [Subtopology(str(n), ["lines"]) for n in range(1_001)]
    team = make_team(lines=100)
    answer = team.newcomer("one").join(topology=new_topology(0, parts))
    assert [status.code for status in answer.statuses] == [StatusCode.INCORRECTLY_PARTITIONED_TOPICS]
    assert "100,100 tasks" in answer.statuses[0].detail
    assert not answer.tasks

"""Heartbeats that no streams group could accept."""

import pytest

from tests.unit.groups.streams.word_count import word_count
from tidelog.base.errors import ErrorCode
from tidelog.groups.record_formats.streams_group import new_topology
from tidelog.groups.record_formats.tasks import Duty, Role
from tidelog.wire.messages.streams_group_heartbeat import CopartitionGroup, Subtopology, TopicInfo


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance_id": "i"}, "Static membership"),
        ({"rack_id": ""}, "RackId can't be empty"),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs"),
        ({"topology": None}, "Topology must be non-null"),
    ],
)
def test_joins(team, changes, words):
    answer = team.newcomer("one").join(**changes)
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert words in answer.error_message


@pytest.mark.parametrize(
    ("epoch", "fields", "words"),
    [
        (-3, {}, "MemberEpoch is -3"),
        (-2, {}, "InstanceId can't be null"),
        (0, {"tasks": {Duty(Role.ACTIVE, "0"): frozenset({0})}, "rebalance_timeout_ms": 1}, "must be empty"),
        (2, {"topology": word_count()}, "only be provided when"),
        (2, {"tasks": {Duty(Role.WARMUP, "0"): frozenset({0})}}, "WarmupTasks"),
        (2, {"tasks": {Duty(Role.ACTIVE, "7"): frozenset({0})}}, "Subtopology 7 does not exist"),
        (2, {"tasks": {Duty(Role.ACTIVE, "0"): frozenset({2})}}, "Number of tasks for this subtopology: 2"),
    ],
)
def test_beats(team, epoch, fields, words):
    answer = team.instance("one").beat(epoch, **fields)
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert words in answer.error_message


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([Subtopology("0")], "No source topics"),
        ([Subtopology("0", ["a"]), Subtopology("0", ["b"])], "same id"),
        ([Subtopology("0", ["__consumer_offsets"])], "internal topics __consumer_offsets"),
        ([Subtopology("0", ["a b"])], "not valid topic names"),
        ([Subtopology("0", ["a"], state_changelog_topics=[TopicInfo("c", 3)])], "undefined partition count"),
        ([Subtopology("0", ["a"], repartition_source_topics=[TopicInfo("r", -3)])], "-3 partitions"),
        ([Subtopology("0", ["a"], copartition_groups=[CopartitionGroup([1])])], "not there"),
        ([Subtopology("0", ["lines"], repartition_source_topics=[TopicInfo("r")])], "never used as a sink"),
        (
            [Subtopology("0", repartition_source_topics=[TopicInfo("r")], repartition_sink_topics=["r"])],
            "loops in the topology",
        ),
        (
            [
                Subtopology("0", ["created-later"]),
                Subtopology("1", repartition_source_topics=[TopicInfo("r")], repartition_sink_topics=["r"]),
            ],
            "loops in the topology",
        ),
        ([Subtopology("0", ["a"], copartition_groups=[CopartitionGroup([0] * 100_001)])], "more than"),
    ],
)
def test_topologies(team, parts, words):
    answer = team.newcomer("one").join(topology=new_topology(0, parts))
    assert answer.error is ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert words in answer.error_message


def test_an_epoch_of_a_topology(team):
    answer = team.newcomer("new").join(topology=word_count(epoch=-1))
    assert answer.error is ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH


def test_regular_expressions(team):
    parts = [Subtopology("0", source_topic_regex=["a.*"])]
    answer = team.newcomer("one").join(topology=new_topology(0, parts))
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert "Regular expressions" in answer.error_message

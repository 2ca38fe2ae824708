"""The topology that the tests of streams groups use."""

from tidelog.groups.record_formats.streams_group import new_topology
from tidelog.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo


def word_count(epoch: int = 0):
    """Two parts: lines are split and sorted by word into a topic between them; words are counted."""
    return new_topology(
        epoch,
        [
            Subtopology(subtopology_id="0", source_topics=["lines"], repartition_sink_topics=["words"]),
            Subtopology(
                subtopology_id="1",
                repartition_source_topics=[TopicInfo("words")],
                state_changelog_topics=[TopicInfo("counts")],
            ),
        ],
    )

"""OffsetFetch: what a group has committed. An unknown group has simply committed nothing."""

from collections.abc import Callable, Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.group import Group
from tidelog.groups.offsets.committed import OffsetStore, TopicOffsets
from tidelog.groups.offsets.messages import FetchedGroup, FetchedOffset, FetchedTopic, FetchGroup

IsUnstable = Callable[[str, str, int], bool]
"""Whether an open transaction holds an offset for this group, topic and partition."""


def fetch(
    offsets: OffsetStore, group: Group | None, request: FetchGroup, is_unstable: IsUnstable | None
) -> FetchedGroup:
    """With `is_unstable`, for readers that require stable offsets, such partitions get a retriable error."""
    if group is not None:
        try:
            group.check_fetch(request.member_id, request.member_epoch)
        except KafkaError as refusal:
            return FetchedGroup(request.group_id, error=refusal.code)
    committed = offsets.of_group(request.group_id)
    wanted: Iterable[tuple[str, Iterable[int]]] = (
        committed.items() if request.topics is None else request.topics
    )
    topics = []
    for name, indexes in wanted:
        of_topic = committed.get(name, {})
        results = [_fetched(of_topic, index) for index in indexes]
        if is_unstable is not None:
            results = [
                FetchedOffset(one.partition_index, error=ErrorCode.UNSTABLE_OFFSET_COMMIT)
                if is_unstable(request.group_id, name, one.partition_index)
                else one
                for one in results
            ]
        topics.append(FetchedTopic(name, results))
    return FetchedGroup(request.group_id, topics)


def _fetched(of_topic: TopicOffsets, index: int) -> FetchedOffset:
    found = of_topic.get(index)
    if found is None:
        return FetchedOffset(index)
    return FetchedOffset(index, found.offset, found.leader_epoch, found.metadata)

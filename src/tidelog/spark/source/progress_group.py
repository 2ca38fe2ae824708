"""Publishes a query's progress as the committed offsets of a consumer group, for tools that show lag.

Nothing depends on it: the query goes on from its checkpoint, whatever the group says. So a commit that fails
is a warning.
"""

import logging
from collections import defaultdict
from dataclasses import replace

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.blocking.cluster import GROUP, Cluster
from tidelog.spark.source.stream_offset import StreamOffset
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

BY_NAME_MAX = 9
PATIENCE_S = 5.0
"""The query waits meanwhile, and the offsets are only for display."""
_log = logging.getLogger("tidelog.spark")


def publish(cluster: Cluster, group: str, progress: StreamOffset) -> None:
    topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, partition), offset in sorted(progress.offsets.items()):
        topics[topic].append(OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset))
    request = OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
    )

    def commit() -> None:
        node = cluster.coordinator(GROUP, group)
        code = _first_error(cluster.call_node(node, request, at_most=BY_NAME_MAX))
        if code:
            raise KafkaError(ErrorCode.of(code))

    try:
        cluster.attempts("offset commit", replace(cluster.settings.limits, total_s=PATIENCE_S)).run(commit)
    except TidelogError as error:
        _log.warning("the progress was not published as offsets of group %s: %s", group, error)


def _first_error(answer: OffsetCommitResponse) -> int:
    codes = (each.error_code for topic in answer.topics for each in topic.partitions)
    return next((code for code in codes if code), 0)

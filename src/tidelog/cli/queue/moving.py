"""AlterShareGroupOffsets: where a group starts in its partitions, planned with the bounds of their logs."""

from collections.abc import Mapping, Sequence

from tidelog.base.errors import ErrorCode
from tidelog.cli.connection import Cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import edge_offsets
from tidelog.cli.group.plan import Standing
from tidelog.cli.group.target import Goal, Target
from tidelog.cli.partition_choice import TopicChoice, expand
from tidelog.cli.queue.calls import ask_coordinator, in_use
from tidelog.cli.queue.looking import find_queue
from tidelog.cli.queue.standing import Queue
from tidelog.cli.records.spans import Bounds
from tidelog.cli.topic.admin import partition_ids
from tidelog.clients.records import TopicPartition


def find_if_there(direct: DirectCluster, name: str) -> Queue | None:
    try:
        return find_queue(direct, name)
    except CliError as error:
        if error.code is not Exit.NOT_FOUND:
            raise
        return None


def chosen_places(
    cluster: Cluster, queue: Queue | None, choices: Sequence[TopicChoice]
) -> list[TopicPartition]:
    """The partitions of the chosen topics; without a choice, all that the group reads."""
    if choices:
        topics = dict.fromkeys(choice.topic for choice in choices)
        existing = {topic: partition_ids(cluster, topic) for topic in topics}
        return expand(choices, existing, "does not exist.", f"tidelog topic describe {' '.join(topics)}")
    return [] if queue is None else [part.place for part in queue.partitions]


def standings(
    cluster: Cluster, queue: Queue | None, places: Sequence[TopicPartition], target: Target
) -> list[Standing]:
    starts = {part.place: part.start_offset for part in queue.partitions} if queue is not None else {}
    lows, highs = (edge_offsets(cluster, places, edge) for edge in ("earliest", "latest"))
    by_time = (
        edge_offsets(cluster, places, "for_timestamp", target.number) if target.goal is Goal.TIME else {}
    )
    return [
        Standing(
            place,
            starts.get(place),
            Bounds(lows[place], highs[place]) if place in lows and place in highs else None,
            by_time.get(place),
        )
        for place in places
    ]


def move_group(direct: DirectCluster, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    from tidelog.wire.messages import alter_share_group_offsets as wire

    by_topic: dict[str, list[wire.AlterShareGroupOffsetsRequestPartition]] = {}
    for place, offset in offsets.items():
        part = wire.AlterShareGroupOffsetsRequestPartition(
            partition_index=place.partition, start_offset=offset
        )
        by_topic.setdefault(place.topic, []).append(part)
    request = wire.AlterShareGroupOffsetsRequest(
        group_id=name,
        topics=[
            wire.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=parts)
            for topic, parts in by_topic.items()
        ],
    )
    answer, _ = ask_coordinator(direct, name, request, lambda answer: answer.error_code)
    if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise in_use(name, len(find_queue(direct, name).members))
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, f"Group '{name}'")
    for topic in answer.responses:
        for part in topic.partitions:
            if part.error_code:
                refused = TopicPartition(topic.topic_name, part.partition_index)
                raise refusal(part.error_code, part.error_message, f"Group '{name}', {refused}")

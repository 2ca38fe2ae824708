"""What a reset must know before it is planned: the partitions, their ends, and what is committed there."""

from collections.abc import Sequence

from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.admin import committed_offsets, edge_offsets
from tidelog.cli.group.plan import Standing
from tidelog.cli.group.target import Goal, Target
from tidelog.cli.partition_choice import TopicChoice, expand
from tidelog.cli.records.spans import Bounds
from tidelog.cli.topic.admin import partition_ids
from tidelog.clients.records import TopicPartition


def chosen_places(cluster: Cluster, name: str, choices: Sequence[TopicChoice]) -> list[TopicPartition]:
    """The partitions of the chosen topics; without a choice, all that the group has committed."""
    if choices:
        topics = dict.fromkeys(choice.topic for choice in choices)
        existing = {topic: partition_ids(cluster, topic) for topic in topics}
        return expand(choices, existing, "does not exist.", f"tidelog topic describe {' '.join(topics)}")
    places = sorted(committed_offsets(cluster, [name])[name])
    if not places:
        raise CliError(
            f"Group '{name}' has committed nothing.",
            attempt=f"tidelog group reset-offsets {name} --topic TOPIC …",
            code=Exit.NOT_FOUND,
        )
    return places


def ask_standings(
    cluster: Cluster, name: str, places: Sequence[TopicPartition], target: Target | None = None
) -> list[Standing]:
    committed = committed_offsets(cluster, [name])[name]
    lows, highs = (edge_offsets(cluster, places, edge) for edge in ("earliest", "latest"))
    by_time = (
        edge_offsets(cluster, places, "for_timestamp", target.number)
        if target is not None and target.goal is Goal.TIME
        else {}
    )
    return [
        Standing(
            place,
            committed.get(place),
            Bounds(lows[place], highs[place]) if place in lows and place in highs else None,
            by_time.get(place),
        )
        for place in places
    ]

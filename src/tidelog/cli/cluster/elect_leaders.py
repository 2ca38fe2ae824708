"""ElectLeaders: let the preferred leaders lead, or any replica that is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError
from tidelog.clients.records import TopicPartition


class Election(IntEnum):
    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Elected:
    changed: list[TopicPartition]
    not_needed: list[TopicPartition]
    refused: dict[TopicPartition, CliError]


def elect_leaders(direct: DirectCluster, kind: Election, places: Sequence[TopicPartition] | None) -> Elected:
    """In these partitions, or in all."""
    from tidelog.wire.messages import elect_leaders as wire

    by_topic: dict[str, list[int]] = {}
    for place in places or ():
        by_topic.setdefault(place.topic, []).append(place.partition)
    wanted = [wire.TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]
    request = wire.ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None if places is None else wanted,
        timeout_ms=max(1, int(direct.session.timeout_s * 1000)),
    )
    answer = direct.ask(request, at_least=1)
    if answer.error_code:
        raise refusal(answer.error_code, None, "No leader was elected")
    elected = Elected([], [], {})
    for topic in answer.replica_election_results:
        for part in topic.partition_result:
            place = TopicPartition(topic.topic, part.partition_id)
            if not part.error_code:
                elected.changed.append(place)
            elif part.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                elected.not_needed.append(place)
            else:
                elected.refused[place] = refusal(
                    part.error_code,
                    part.error_message,
                    str(place),
                    attempt="tidelog cluster brokers, to see which brokers are down",
                )
    return elected

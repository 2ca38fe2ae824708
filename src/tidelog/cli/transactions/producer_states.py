"""DescribeProducers: the producers of partitions, and the first offsets of their open transactions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import ClusterView
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class ProducerState:
    """What the leader of a partition remembers of one producer."""

    place: TopicPartition
    producer_id: int
    epoch: int
    last_sequence: int | None
    last_timestamp_ms: int | None
    coordinator_epoch: int | None
    """Of the last marker; None before the first one."""
    open_since: int | None
    """The first offset of its transaction that is open."""

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.place.topic,
            "partition": self.place.partition,
            "producer_id": self.producer_id,
            "epoch": self.epoch,
            "last_sequence": self.last_sequence,
            "last_timestamp": self.last_timestamp_ms,
            "coordinator_epoch": self.coordinator_epoch,
            "open_since_offset": self.open_since,
        }


def look_at_producers(
    direct: DirectCluster, view: ClusterView, places: Iterable[TopicPartition]
) -> list[ProducerState]:
    """Asks the leader of each partition. Fails where a leader does not answer: its producers would miss."""
    from tidelog.wire.messages import describe_producers as wire

    by_leader: dict[int, dict[str, list[int]]] = {}
    for place in places:
        leader = view.partitions[place].leader
        if leader is None:
            raise _leaderless(place)
        by_leader.setdefault(leader, {}).setdefault(place.topic, []).append(place.partition)
    found: list[ProducerState] = []
    for leader, topics in by_leader.items():
        broker = view.broker(leader)
        request = wire.DescribeProducersRequest(
            topics=[wire.TopicRequest(name=name, partition_indexes=parts) for name, parts in topics.items()]
        )
        try:
            answer = direct.ask_broker((broker.host, broker.port), request)
        except Disconnected as error:
            raise away(broker.id, broker.address, error) from error
        found += [
            _state(TopicPartition(topic.name, part.partition_index), producer)
            for topic in answer.topics
            for part in topic.partitions
            for producer in _producers(topic.name, part)
        ]
    return sorted(found, key=lambda state: (state.place, state.producer_id))


def _producers(topic: str, part: Any) -> Any:
    if part.error_code:
        raise refusal(
            part.error_code,
            part.error_message,
            f"The producers of {topic}[{part.partition_index}] cannot be listed",
            attempt="the same command again: its leader may have just changed",
        )
    return part.active_producers


def _state(place: TopicPartition, answer: Any) -> ProducerState:
    return ProducerState(
        place,
        answer.producer_id,
        answer.producer_epoch,
        _known(answer.last_sequence),
        _known(answer.last_timestamp),
        _known(answer.coordinator_epoch),
        _known(answer.current_txn_start_offset),
    )


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def _leaderless(place: TopicPartition) -> CliError:
    return CliError(
        f"{place} has no leader now.",
        cause="the brokers that hold it are down.",
        attempt="tidelog cluster status",
        code=Exit.UNREACHABLE,
    )


def away(id: int, address: str, error: Disconnected) -> CliError:
    return CliError(
        f"Broker {id} at {address} does not answer: {error.reason}.",
        cause="it stopped a moment ago, or advertises an address that this machine cannot reach.",
        attempt="tidelog cluster brokers",
        code=Exit.UNREACHABLE,
    )

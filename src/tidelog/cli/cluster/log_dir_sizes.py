"""What each broker keeps in its log dirs: the bytes of every replica, and the room that is left."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError
from tidelog.clients.records import TopicPartition


@dataclass(slots=True)
class Stored:
    """One broker's log dirs together."""

    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    total_bytes: int | None = None
    free_bytes: int | None = None
    log_dirs: int = 0
    failed_log_dirs: int = 0
    cordoned: bool = False
    """The broker takes no new replicas: it is being drained, or was."""

    @property
    def used_bytes(self) -> int:
        return sum(self.sizes.values())


def look_at_log_dirs(
    cluster: DirectCluster,
    brokers: Iterable[Broker],
    places: Iterable[TopicPartition] | None = None,
    *,
    silent: set[int] | None = None,
) -> dict[int, Stored]:
    """By broker, without brokers that do not answer. Asks for these partitions only, or for all.

    `silent` gets the ids of those that did not answer at all.
    """
    from tidelog.wire.messages import describe_log_dirs as wire

    by_topic: dict[str, list[int]] = {}
    for place in places or ():
        by_topic.setdefault(place.topic, []).append(place.partition)
    wanted = [
        wire.DescribableLogDirTopic(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()
    ]
    request = wire.DescribeLogDirsRequest(topics=None if places is None else wanted)
    found: dict[int, Stored] = {}
    for broker in brokers:
        try:
            answer = cluster.ask_broker((broker.host, broker.port), request, at_least=1)
        except Disconnected:
            if silent is not None:
                silent.add(broker.id)
            continue
        except CliError:
            continue
        if not answer.error_code:
            found[broker.id] = _stored(answer.results)
    return found


def _stored(log_dirs: Iterable[Any]) -> Stored:
    stored = Stored()
    for log_dir in log_dirs:
        stored.log_dirs += 1
        stored.cordoned |= log_dir.is_cordoned
        if log_dir.error_code:
            stored.failed_log_dirs += 1
            continue
        for topic in log_dir.topics:
            for part in topic.partitions:
                if not part.is_future_key:
                    place = TopicPartition(topic.name, part.partition_index)
                    stored.sizes[place] = stored.sizes.get(place, 0) + part.partition_size
        # Log dirs on one disk each report that disk; to add them up would promise room that is not there.
        stored.total_bytes = _larger(stored.total_bytes, log_dir.total_bytes)
        stored.free_bytes = _larger(stored.free_bytes, log_dir.usable_bytes)
    return stored


def _larger(known: int | None, size: int) -> int | None:
    return known if size < 0 else max(size, known or 0)

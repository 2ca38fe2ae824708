"""A limit on how fast replicas are copied, set before the moves begin and taken away after the last one.

As Kafka's own tool does it: the rate is a setting of every broker that takes part, and the topics name the
replicas that it counts for, so that followers which merely keep up are never slowed down.
"""

from collections.abc import Iterable, Sequence

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, change_settings, read_settings
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.plan import Move

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
RATES, REPLICAS = (LEADER_RATE, FOLLOWER_RATE), (LEADER_REPLICAS, FOLLOWER_REPLICAS)


def topic_limits(moves: Iterable[Move]) -> dict[str, dict[str, str | None]]:
    """The settings of each topic: the sources on the leaders' side, the targets on the followers'."""
    sources: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for move in moves:
        if not move.adding:
            continue
        topic, partition = move.place
        sources.setdefault(topic, []).extend(f"{partition}:{id}" for id in move.before)
        targets.setdefault(topic, []).extend(f"{partition}:{id}" for id in move.adding)
    return {
        topic: {LEADER_REPLICAS: ",".join(pairs), FOLLOWER_REPLICAS: ",".join(targets[topic])}
        for topic, pairs in sources.items()
    }


def set_throttle(direct: DirectCluster, view: ClusterView, moves: Sequence[Move], rate: int) -> None:
    """`rate` in bytes a second, for each broker that gives or takes."""
    copied = [move for move in moves if move.adding]
    involved = dict.fromkeys(id for move in copied for id in (*move.before, *move.adding))
    limits: dict[str, str | None] = dict.fromkeys(RATES, str(rate))
    for id in sorted(involved):
        broker = view.brokers.get(id)
        if broker is not None and not broker.fenced:
            _change_broker(direct, broker, limits)
    change_settings(direct, Kind.TOPIC, topic_limits(copied))


def find_throttles(
    direct: DirectCluster, view: ClusterView, topics: Iterable[str]
) -> tuple[list[Broker], list[str]]:
    """The brokers and topics that have limits of their own."""
    limited = []
    for broker in view.alive:
        try:
            found = read_settings(
                direct,
                Kind.BROKER,
                [str(broker.id)],
                RATES,
                address=(broker.host, broker.port),
                own_only=True,
            )
        except Disconnected:
            continue
        if found.get(str(broker.id)):
            limited.append(broker)
    of_topics = read_settings(direct, Kind.TOPIC, topics, REPLICAS, own_only=True)
    return limited, [topic for topic, values in of_topics.items() if any(values.values())]


def remove_throttle(direct: DirectCluster, view: ClusterView, topics: Iterable[str]) -> bool:
    """Put back what `set_throttle` set; says whether there was anything."""
    brokers, limited_topics = find_throttles(direct, view, topics)
    for broker in brokers:
        _change_broker(direct, broker, dict.fromkeys(RATES))
    change_settings(direct, Kind.TOPIC, {topic: dict.fromkeys(REPLICAS) for topic in limited_topics})
    return bool(brokers or limited_topics)


def _change_broker(direct: DirectCluster, broker: Broker, changes: dict[str, str | None]) -> None:
    try:
        change_settings(direct, Kind.BROKER, {str(broker.id): changes}, address=(broker.host, broker.port))
    except Disconnected as error:
        raise CliError(
            f"Broker {broker.id} at {broker.address} does not answer, so its throttle stays as it is.",
            cause=f"{error.reason}; it stopped, or is overloaded.",
            attempt="tidelog cluster brokers, and the same command again",
            code=Exit.UNREACHABLE,
        ) from error

"""Bytes on disk per partition, from each leader's DescribeLogDirs; a leader without an answer is left out."""

from collections.abc import Iterable
from typing import Any

from tidelog.blocking.errors import Disconnected
from tidelog.cli.exits import CliError
from tidelog.cli.session import Session


def partition_sizes(session: Session, topics: Iterable[Any]) -> dict[tuple[str, int], int]:
    """{(topic, partition): bytes on its leader} for topics as confluent-kafka describes them."""
    from tidelog.cli.direct.cluster import DirectCluster
    from tidelog.wire.messages import describe_log_dirs as wire

    led: dict[tuple[str, int], dict[str, list[int]]] = {}
    for topic in topics:
        for part in topic.partitions:
            if part.leader is not None:
                by_topic = led.setdefault((part.leader.host, part.leader.port), {})
                by_topic.setdefault(topic.name, []).append(part.id)
    sizes: dict[tuple[str, int], int] = {}
    for address, by_topic in led.items():
        wanted = [
            wire.DescribableLogDirTopic(topic=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ]
        request = wire.DescribeLogDirsRequest(topics=wanted)
        try:
            answer = DirectCluster(session).ask_broker(address, request, at_least=1)
        except (Disconnected, CliError):
            continue
        for log_dir in answer.results:
            for found in log_dir.topics:
                for part in found.partitions:
                    if not part.is_future_key:
                        sizes[found.name, part.partition_index] = part.partition_size
    return sizes

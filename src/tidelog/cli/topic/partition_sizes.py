"""Bytes on disk per partition, asked of each leader with DescribeLogDirs; who won't say is left out."""

from collections.abc import Iterable
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.cli.direct.call import call, is_plain
from tidelog.cli.session import Session
from tidelog.wire.apis import ApiKey

VERSION = 1  # the oldest that every broker since 2.0 speaks; it has all we show


def partition_sizes(session: Session, topics: Iterable[Any]) -> dict[tuple[str, int], int]:
    """{(topic, partition): bytes on its leader} for topics as confluent-kafka describes them."""
    from tidelog.wire.messages import describe_log_dirs as wire

    if not is_plain(session):
        return {}
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
            answer = call(address, ApiKey.DESCRIBE_LOG_DIRS, VERSION, request, session.timeout_s)
        except (OSError, ProtocolError):
            continue
        for log_dir in answer.results:
            for found in log_dir.topics:
                for part in found.partitions:
                    if not part.is_future_key:
                        sizes[found.name, part.partition_index] = part.partition_size
    return sizes

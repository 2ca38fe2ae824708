"""Topics of a test's broker: created, filled, grown, cut and deleted through a client that is not ours."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidelog.testing import Broker

_names = itertools.count(1)


@dataclass
class Topics:
    """Creates, fills, cuts and deletes topics of the file's broker."""

    broker: Broker

    def create(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        from confluent_kafka.admin import NewTopic

        name = name or f"topic-{next(_names)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self._admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)
        return name

    def names(self) -> set[str]:
        return set(self._admin.list_topics(timeout=30).topics)

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(30)

    def grow(self, name: str, partitions: int) -> None:
        from confluent_kafka.admin import NewPartitions

        self._admin.create_partitions([NewPartitions(name, partitions)])[name].result(30)

    def cut(self, name: str, partition: int, before: int) -> None:
        """Records below that offset go, as retention would take them."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(name, partition, before)
        self._admin.delete_records([place])[place].result(30)

    def fill(
        self,
        name: str,
        values: Sequence[bytes],
        *,
        partition: int = 0,
        producer: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        from confluent_kafka import Producer

        client = Producer(
            {"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 5, **(producer or {})}
        )
        for value in values:
            client.produce(name, value=value, partition=partition, **fields)
        assert client.flush(60) == 0

    @cached_property
    def _admin(self) -> Any:
        """Kept: one that is thrown away takes the answers that are still to come with it."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})

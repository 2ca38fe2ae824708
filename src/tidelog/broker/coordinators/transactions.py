"""The transaction coordinators of this broker: a shard for each partition of `__transaction_state` it leads.

Besides what the runtime does for every coordinator, transactions have markers written to the partitions that
took part.
"""

from collections.abc import Awaitable, Callable, Iterator

from tidelog.base.ids import NodeId, ProducerId
from tidelog.base.ports import Clock
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.coordinators.transaction_markers import SendMarkers, TransactionMarkers
from tidelog.broker.coordinators.transaction_partition import TransactionPartition
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import TRANSACTION_STATE
from tidelog.transactions.ended import EndedTransactions
from tidelog.transactions.marker import Marker
from tidelog.transactions.settings import StateTopicSettings, TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import TopicPartition


class Transactions:
    def __init__(
        self,
        runtime: CoordinatorRuntime,
        *,
        clock: Clock,
        take_id: Callable[[], Awaitable[ProducerId]],
        send_markers: SendMarkers,
    ) -> None:
        self._metadata = runtime.metadata
        self._take_id = take_id
        self._serving: dict[int, TransactionPartition] = {}
        self.ended = EndedTransactions()
        self.markers = TransactionMarkers(send_markers, self._leader_of, clock, self._on_written)
        self.service = runtime.register(
            Registration(
                name="transactions",
                key_type=KeyType.TRANSACTION,
                topic=TRANSACTION_STATE,
                new_topic=self._new_topic,
                new_shard=lambda epoch: TransactionShard(self._settings(), epoch, self.ended),
                on_served=self._on_served,
                on_left=self._on_left,
                after_step=self._write_markers,
                on_change=self._on_change,
            )
        )

    def __iter__(self) -> Iterator[TransactionPartition]:
        """The partitions that are loaded and serve."""
        return iter(tuple(self._serving.values()))

    def of(self, transactional_id: str) -> TransactionPartition:
        """Returns the partition that holds the id. KafkaError: the client looks elsewhere, or later."""
        return self._serving[self.service.of(transactional_id).partition.index]

    async def close(self) -> None:
        """To be called after the runtime's `close`."""
        await self.markers.close()

    def _settings(self) -> TransactionSettings:
        return TransactionSettings.of(self._metadata.config)

    def _new_topic(self) -> StateTopic:
        settings = StateTopicSettings.of(self._metadata.config)

        def configs(replicas: int) -> dict[str, str]:
            return {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "segment.bytes": str(settings.segment_bytes),
                # One replica less must do, or nothing could be decided while a broker is away.
                "min.insync.replicas": str(max(1, min(settings.min_insync_replicas, replicas - 1))),
                "unclean.leader.election.enable": "false",
            }

        return StateTopic(settings.partitions, settings.replication_factor, configs)

    def _on_served(self, served: ServedPartition[TransactionShard]) -> None:
        self._serving[served.partition.index] = TransactionPartition(served, self._take_id)

    def _on_left(self, index: int) -> None:
        self._serving.pop(index).close()
        self.markers.drop_shard(index)

    def _on_change(self, delta: ImageDelta) -> None:
        if delta.after.broker_configs is not delta.before.broker_configs:
            for served in self.service:
                served.shard.settings = self._settings()

    def _write_markers(self, served: ServedPartition[TransactionShard]) -> None:
        if markers := served.shard.take_markers():
            self.markers.write(served.partition.index, markers)

    def _on_written(self, index: int, marker: Marker) -> None:
        serving = self._serving.get(index)
        if serving is not None:
            serving.complete(marker)

    def _leader_of(self, partition: TopicPartition) -> NodeId | None:
        image = self._metadata.image.partition(*partition)
        return None if image is None else image.leader

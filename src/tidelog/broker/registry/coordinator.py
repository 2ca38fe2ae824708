"""The registry's coordinator: its shard is partition 0 of `_schemas`, served where this broker leads it.

No client looks for it: every broker takes calls, and finds the leader by the metadata.
"""

from typing import TYPE_CHECKING

from tidelog.base.ids import Epoch, NodeId
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.runtime.loading import until_replicated
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.metadata.topics.names import SCHEMAS

if TYPE_CHECKING:
    from tidelog.registry.state.shard import RegistryShard

RECORD_BYTES_MAX = 16 * 1024 * 1024
"""Of one record of `_schemas`, whatever the broker's own limit: JSON in JSON has twice as many quotes."""

_KEY = ""
"""The hash of it is 0, and so is the partition."""


class RegistryCoordinator:
    def __init__(self, runtime: CoordinatorRuntime) -> None:
        self._metadata = runtime.metadata
        self._service = runtime.register(
            Registration(
                name="schemas",
                key_type=None,
                topic=SCHEMAS,
                new_topic=self._new_topic,
                new_shard=new_shard,
                # Schemas can be read also while too few replicas are in sync.
                until_loadable=until_replicated,
            )
        )

    @property
    def has_topic(self) -> bool:
        return self._service.has_topic

    @property
    def leader(self) -> NodeId | None:
        return self._service.leader_of(_KEY)

    @property
    def problem(self) -> str | None:
        """Why the topic, as an operator made it, cannot hold a registry; None where it can."""
        topic = self._metadata.image.topic(SCHEMAS)
        if topic is None or len(topic.partitions) == 1:
            return None
        return (
            f"the topic {SCHEMAS} has {len(topic.partitions)} partitions, and the schema registry needs one: "
            f"copy its records to a topic of one partition, delete {SCHEMAS}, and create it anew"
        )

    async def ensure_topic(self) -> None:
        """KafkaError where the topic cannot be created now."""
        await self._service.ensure_topic()

    async def served(self) -> "ServedPartition[RegistryShard]":
        """Returns the shard, once it is loaded. KafkaError: another broker leads it, or it takes longer."""
        waits = self._service.until_served(_KEY)
        if waits is not None:
            await waits
        return self._service.of(_KEY)

    @property
    def shard(self) -> "RegistryShard | None":
        """The shard to look at, where this broker serves it."""
        for served in self._service:
            if served.partition.index == 0:
                return served.shard_as_written
        return None

    def _new_topic(self) -> StateTopic:
        factor = self._metadata.config.int("schema.registry.topic.replication.factor")

        def configs(replicas: int) -> dict[str, str]:
            return {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "max.message.bytes": str(RECORD_BYTES_MAX),
                # One replica less must do, or nothing could be registered while a broker is away.
                "min.insync.replicas": str(max(1, min(2, replicas - 1))),
                "unclean.leader.election.enable": "false",
            }

        return StateTopic(1, factor, configs)


def new_shard(_: Epoch = 0) -> "RegistryShard":
    from tidelog.registry.state.shard import RegistryShard  # a broker without schemas needs none

    return RegistryShard()

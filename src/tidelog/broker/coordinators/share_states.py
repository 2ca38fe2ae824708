"""The share coordinators of this broker: one shard for each partition of `__share_group_state` that it leads.

Besides what the runtime does for every coordinator, they follow deleted topics, and delete records that later
snapshots replace: the topic is not compacted, since updates add up.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Epoch, Offset, Uuid
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.coordination.decision import ShardDecision
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.shares.place import SharePlace, coordinator_key
from tidelog.shares.state.settings import ShareStateSettings, ShareStateTopicSettings
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import read_records

if TYPE_CHECKING:
    from tidelog.shares.state.requests import StateRead, StateSummary, StateWrite
    from tidelog.shares.state.shard import ShareStateShard

AnswerT = TypeVar("AnswerT")
Answer: TypeAlias = AnswerT | KafkaError | asyncio.Future[AnswerT | KafkaError]

MESSAGE_BYTES_MAX = 1024 * 1024
"""Of `__share_group_state`, whatever the broker's own limit: records are a quarter of it at the most."""

log = logging.getLogger("tidelog.broker.shares")


class ShareStates:
    """Requests raise KafkaError where another broker serves the key, or this one not yet."""

    def __init__(self, runtime: CoordinatorRuntime) -> None:
        self._metadata = runtime.metadata
        self._prune_timer: asyncio.TimerHandle | None = None
        self.service = runtime.register(
            Registration(
                name="shares",
                key_type=KeyType.SHARE,
                topic=SHARE_GROUP_STATE,
                new_topic=self._new_topic,
                new_shard=self._new_shard,
                answer_seconds=lambda: self._metadata.config.int("share.coordinator.write.timeout.ms") / 1000,
                replay_batch=replay_batch,
                on_served=self._on_served,
                on_left=self._on_left,
                on_appended=_set_offset,
                on_change=self._on_change,
            )
        )

    # Requests

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: Offset) -> Answer[None]:
        served = self._of(place)
        now_ms = served.now[1]
        return _in_order(served, served.shard.initialize(place, state_epoch, start_offset, now_ms))

    def read(
        self, place: SharePlace, leader_epoch: Epoch, first: Offset | None = None, limit: int | None = None
    ) -> "Answer[StateRead]":
        served = self._of(place)
        return _in_order(served, served.shard.read(place, leader_epoch, first, limit))

    def write(self, place: SharePlace, write: "StateWrite") -> Answer[None]:
        """Writes of one turn of the loop share a batch. A write that is too large for a record has parts."""
        served = self._of(place)
        *parts, last = write.parts()
        for part in parts:
            gathered = self._gather(served, place, part)
            served.shard.forget_writing()  # the property has written it
            if gathered.done() and gathered.result() is not None:
                return gathered  # refused, or not appended
        # The log commits in order: an answer to the last part holds for all.
        return self._gather(served, place, last)

    def delete(self, place: SharePlace) -> Answer[None]:
        served = self._of(place)
        return _in_order(served, served.shard.delete(place))

    def summary(self, place: SharePlace) -> "Answer[StateSummary]":
        served = self._of(place)
        return _in_order(served, served.shard.summary(place))

    def _of(self, place: SharePlace) -> "ServedPartition[ShareStateShard]":
        return self.service.of(coordinator_key(place))

    def _gather(
        self, served: "ServedPartition[ShareStateShard]", place: SharePlace, write: "StateWrite"
    ) -> "asyncio.Future[KafkaError | None]":
        if served.shard_as_written.is_writing(place):
            served.shard.forget_writing()  # the property has written them
        return served.gather(lambda shard: shard.write(place, write), _same)

    # Registration

    def _settings(self) -> ShareStateSettings:
        return ShareStateSettings.of(self._metadata.config)

    def _new_shard(self, _: Epoch) -> "ShareStateShard":
        from tidelog.shares.state.shard import ShareStateShard  # a broker without share groups needs none

        return ShareStateShard(self._settings(), self.has_partition)

    def has_partition(self, topic_id: Uuid, partition: int) -> bool:
        topic = self._metadata.image.topic_by_id(topic_id)
        return topic is not None and topic.partition(partition) is not None

    def _new_topic(self) -> StateTopic:
        settings = ShareStateTopicSettings.of(self._metadata.config)

        def configs(replicas: int) -> dict[str, str]:
            return {
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "segment.bytes": str(settings.segment_bytes),
                "retention.ms": "-1",
                "retention.bytes": "-1",
                "max.message.bytes": str(MESSAGE_BYTES_MAX),
                # One replica less must do, or no acknowledgement is saved while a broker is away.
                "min.insync.replicas": str(max(1, min(settings.min_insync_replicas, replicas - 1))),
                "unclean.leader.election.enable": "false",
            }

        return StateTopic(settings.partitions, settings.replication_factor, configs)

    def _on_served(self, served: "ServedPartition[ShareStateShard]") -> None:
        shard = served.shard
        # A topic may have been deleted right before a crash, or during the load.
        gone = {place.topic_id for place in shard if self._metadata.image.topic_by_id(place.topic_id) is None}
        if gone:
            served.write_all(shard.delete_topics(gone))
        self._start_prune_timer()

    def _on_left(self, _: int) -> None:
        if self._prune_timer is not None and not any(self.service):
            self._prune_timer.cancel()
            self._prune_timer = None

    def _on_change(self, delta: ImageDelta) -> None:
        if delta.after.broker_configs is not delta.before.broker_configs:
            for served in self.service:
                served.shard.settings = self._settings()
        deleted = {topic.id for topic in delta.topics_deleted}
        if deleted:
            for served in self.service:
                served.write_all(served.shard.delete_topics(deleted))

    # Pruning

    def _start_prune_timer(self) -> None:
        if self._prune_timer is None:
            seconds = self._metadata.config.int("share.coordinator.state.topic.prune.interval.ms") / 1000
            self._prune_timer = asyncio.get_running_loop().call_later(seconds, self._prune)

    def _prune(self) -> None:
        self._prune_timer = None
        for served in self.service:
            prune(served)
        self._start_prune_timer()


def prune(served: "ServedPartition[ShareStateShard]") -> None:
    """Delete the records that no load needs, once the snapshots that replace them are committed."""
    needed_from = served.shard.needed_from
    partition = served.partition

    def delete() -> None:
        if needed_from <= partition.log.start or not partition.is_leader:
            return
        try:
            partition.log.delete_before(min(needed_from, partition.high_watermark))
        except (KafkaError, OSError) as error:
            log.error("%r: records below offset %d are not deleted: %s", partition, needed_from, error)

    if needed_from > partition.log.start:
        served.when_committed(delete, lambda _: None)


def replay_batch(shard: "ShareStateShard", header: BatchHeader, batch: memoryview) -> int:
    """Replay one batch while the shard is loaded; returns the number of records."""
    if header.is_control:
        return 0
    count = 0
    for record in read_records(batch):
        if record.key is not None:
            shard.next_offset = record.offset
            shard.replay(record.key, record.value)
            count += 1
    return count


def _set_offset(shard: "ShareStateShard", offset: Offset) -> None:
    shard.next_offset = offset


def _in_order(
    served: "ServedPartition[ShareStateShard]", decision: ShardDecision[AnswerT | KafkaError]
) -> "AnswerT | KafkaError | asyncio.Future[AnswerT | KafkaError]":
    return served.run_in_order(decision, _same)


def _same(answer: AnswerT) -> AnswerT:
    return answer

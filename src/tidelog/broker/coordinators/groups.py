"""The group coordinators of this broker: one shard for each partition of `__consumer_offsets` that it leads.

Besides what the runtime does for every coordinator, groups follow the topics of the cluster: which ones their
members can be assigned, and whose committed offsets have to go because the topic was deleted.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from weakref import WeakKeyDictionary

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Epoch
from tidelog.base.ports import Random
from tidelog.broker.coordinators.group_log import replay_batch
from tidelog.broker.coordinators.internal_topics import StateTopic
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.coordinators.runtime.loading import until_replicated
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.runtime import CoordinatorRuntime
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.groups.consumer.topics import TopicInfo, Topics
from tidelog.groups.counters import GroupCounters
from tidelog.groups.settings import GroupSettings, OffsetsTopicSettings
from tidelog.groups.shard import GroupShard
from tidelog.groups.share.messages import StatesToDelete
from tidelog.groups.share.states import topic_ids
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import CONSUMER_OFFSETS

DELETE_OFFSETS_SECONDS = 1.0

log = logging.getLogger("tidelog.broker.groups")


def register_groups(
    runtime: CoordinatorRuntime,
    random: Random,
    counters: GroupCounters | None = None,
    finish_deletion: Callable[[StatesToDelete], None] = lambda to_delete: None,
) -> CoordinatorService[GroupShard]:
    """`finish_deletion`: has share state deleted where a coordinator stopped before it was."""
    return _Groups(runtime, random, counters or GroupCounters(), finish_deletion).service


class _Groups:
    def __init__(
        self,
        runtime: CoordinatorRuntime,
        random: Random,
        counters: GroupCounters,
        finish_deletion: Callable[[StatesToDelete], None],
    ) -> None:
        self._counters = counters
        self._finish_deletion = finish_deletion
        self._metadata = runtime.metadata
        self._random = random
        self._topics: Topics | None = None
        self._deleted_before_served: WeakKeyDictionary[GroupShard, set[str]] = WeakKeyDictionary()
        """Topics that were deleted since a load began: their offsets may still be in what it reads."""
        self.service = runtime.register(
            Registration(
                name="groups",
                key_type=KeyType.GROUP,
                topic=CONSUMER_OFFSETS,
                new_topic=self._new_topic,
                new_shard=self._new_shard,
                on_load_retried=self._on_load_retried,
                answer_seconds=lambda: self._topic_settings.commit_timeout_ms / 1000,
                # Committed offsets can be fetched also while too few replicas are in sync.
                until_loadable=until_replicated,
                replay_batch=replay_batch,
                on_served=self._on_served,
                on_change=self._on_change,
            )
        )

    @property
    def _topic_settings(self) -> OffsetsTopicSettings:
        return OffsetsTopicSettings.of(self._metadata.config)

    def _new_topic(self) -> StateTopic:
        settings = self._topic_settings
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.segment_bytes),
        }
        return StateTopic(settings.partitions, settings.replication_factor, lambda replicas: configs)

    def _new_shard(self, _: Epoch) -> GroupShard:
        shard = GroupShard(self._settings(), self._random, self._counters)
        self._deleted_before_served[shard] = set()
        return shard

    def _on_load_retried(self, failed: GroupShard, fresh: GroupShard) -> None:
        self._deleted_before_served[fresh] = self._deleted_before_served.pop(failed)

    def _settings(self) -> GroupSettings:
        return GroupSettings.of(self._metadata.config, self._metadata.image.group_configs)

    def _on_served(self, served: ServedPartition[GroupShard]) -> None:
        shard = served.shard
        if self._topics is None:
            self._topics = self._all_topics()
        shard.on_topics_changed(self._topics)
        offsets = shard.durable.offsets
        committed = {topic for group_id in offsets.group_ids() for topic in offsets.of_group(group_id)}
        deleted = self._deleted_before_served.pop(shard, set())
        # A topic that does not exist was deleted right before a crash, and its offsets were not.
        gone = {name for name in committed if name in deleted or not self._metadata.image.topic(name)}
        if gone:
            served.write_all(shard.delete_topics(sorted(gone), *served.now))
        self._tidy_share_states(served)

    def _tidy_share_states(self, served: ServedPartition[GroupShard]) -> None:
        """Go on where a coordinator before this one stopped, or the topics were deleted meanwhile."""
        shard, topics = served.shard, self._metadata.image.topics_by_id
        groups = shard.durable.share_groups.values()
        gone = {topic for group in groups for topic in topic_ids(group.states)} - topics.keys()
        if gone:
            served.write_all(shard.drop_share_topics(gone, *served.now))
        for to_delete in served.shard.share_states_to_delete():
            self._finish_deletion(to_delete)

    def _on_change(self, delta: ImageDelta) -> Coroutine[None, None, None] | None:
        deleted = [topic.name for topic in delta.topics_deleted]
        for names in self._deleted_before_served.values():
            names.update(deleted)
        if delta.topics_deleted or delta.partitions_created:
            self._topics = self._all_topics()
            for served in self.service:
                served.shard.on_topics_changed(self._topics)
        if delta.after.security is not delta.before.security:
            for served in self.service:
                served.shard.on_permissions_changed()
        settings = self._settings() if _has_other_settings(delta) else None
        for served in self.service:
            if deleted:
                served.write_all(served.shard.delete_topics(deleted, *served.now))
                ids = {topic.id for topic in delta.topics_deleted}
                served.write_all(served.shard.drop_share_topics(ids, *served.now))
            if settings is not None:
                served.shard.configure(settings)
        return self._until_offsets_are_deleted() if deleted else None

    async def _until_offsets_are_deleted(self) -> None:
        """Hold up the answer to a deletion: a new topic of that name must never inherit these offsets."""
        try:
            # Not for long: the followers may be waiting for the very change that waits here.
            async with asyncio.timeout(DELETE_OFFSETS_SECONDS):
                await asyncio.gather(*(until_replicated(served.partition) for served in self.service))
        except (KafkaError, TimeoutError) as error:
            reason = str(error) or "their tombstones are not replicated yet"
            log.error("offsets of deleted topics may come back after a crash: %s", reason)

    def _all_topics(self) -> Topics:
        """What members can be assigned; one object for all shards."""
        by_name = {
            topic.name: TopicInfo(topic.id, len(topic.partitions))
            for topic in self._metadata.image.topics.values()
        }
        return Topics(by_name, self._metadata.version)


def _has_other_settings(delta: ImageDelta) -> bool:
    before, after = delta.before, delta.after
    return (
        after.broker_configs is not before.broker_configs or after.group_configs is not before.group_configs
    )

"""The broker's settings for groups and committed offsets, in the units that the decisions use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.group_config import GroupConfig, GroupConfigs

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member may wait in its first join: it has no id yet, so it cannot send heartbeats."""

PROTOCOLS_MAX = 64
"""Protocols that one member may offer. Clients bring one to four."""

MEMBER_METADATA_BYTES_MAX = 1024 * 1024
"""All protocols of one member together; a group is stored as one record, which holds each member's."""

PENDING_MEMBERS_MAX = 10_000
"""Ids of one group that were given out and not used yet. Each is forgotten after its session timeout."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    members_max: int = 10_000
    offset_metadata_chars_max: int = 4096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    new_member_join_timeout_ms: int = NEW_MEMBER_JOIN_TIMEOUT_MS
    consumer_members_max: int = 10_000
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """The first is for groups whose members do not say."""
    consumer_migration_policy: str = "bidirectional"
    streams_members_max: int = 10_000
    share_members_max: int = 200
    share_initialize_retry_interval_ms: int = 30_000
    of_groups: GroupConfigs = field(default_factory=lambda: GroupConfigs(BrokerConfig()), compare=False)
    """What a group may have of its own, such as its session timeout."""

    def of_group(self, group_id: str) -> GroupConfig:
        return self.of_groups.of(group_id)

    @classmethod
    def of(
        cls, config: BrokerConfig, group_configs: Mapping[str, Mapping[str, str]] | None = None
    ) -> "GroupSettings":
        return cls(
            session_timeout_ms_min=config.int("group.min.session.timeout.ms"),
            session_timeout_ms_max=config.int("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=config.int("group.initial.rebalance.delay.ms"),
            members_max=config.int("group.max.size"),
            offset_metadata_chars_max=config.int("offset.metadata.max.bytes"),
            offsets_retention_ms=config.int("offsets.retention.minutes") * 60_000,
            offsets_retention_check_interval_ms=config.int("offsets.retention.check.interval.ms"),
            consumer_members_max=config.int("group.consumer.max.size"),
            consumer_assignors=tuple(config.list("group.consumer.assignors")),
            consumer_migration_policy=config.text("group.consumer.migration.policy"),
            streams_members_max=config.int("group.streams.max.size"),
            share_members_max=config.int("group.share.max.size"),
            share_initialize_retry_interval_ms=config.int("group.share.initialize.retry.interval.ms"),
            of_groups=GroupConfigs(config, group_configs),
        )


@dataclass(frozen=True, slots=True)
class OffsetsTopicSettings:
    """How `__consumer_offsets` is created, and how long a write to it may take."""

    partitions: int = 50
    replication_factor: int = -1
    segment_bytes: int = 100 * 1024 * 1024
    commit_timeout_ms: int = 5_000

    @classmethod
    def of(cls, config: BrokerConfig) -> "OffsetsTopicSettings":
        return cls(
            partitions=config.int("offsets.topic.num.partitions"),
            replication_factor=config.int("offsets.topic.replication.factor"),
            segment_bytes=config.int("offsets.topic.segment.bytes"),
            commit_timeout_ms=config.int("offsets.commit.timeout.ms"),
        )

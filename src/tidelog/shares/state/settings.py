"""The broker's settings of the share coordinator, in the units that its decisions use."""

from dataclasses import dataclass

from tidelog.base.config.config import BrokerConfig

WINDOW_RECORDS_MAX = 200_000_000
"""How far above its start offset a state may reach: twice what the broker allows a window. A write beyond it
is a mistake, and would take memory for each offset in between."""

DELAYED_RECORDS_MAX = 20_000_000
"""How many delayed records a write may store: twice what the broker allows. Each has a time in memory."""

DEAD_LETTERS_MAX = 8192
"""How many dead letters a batch that is begun may have: many more than a leader puts into one. The leader
after it takes them up one by one."""

RECORD_BATCHES = 4096
"""State batches in one record, some 130 kB at the most: no record comes near the limit of a message."""


@dataclass(frozen=True, slots=True)
class ShareStateSettings:
    updates_per_snapshot: int = 500
    cold_snapshot_ms: int = 300_000

    @classmethod
    def of(cls, config: BrokerConfig) -> "ShareStateSettings":
        return cls(
            updates_per_snapshot=config.int("share.coordinator.snapshot.update.records.per.snapshot"),
            cold_snapshot_ms=config.int("share.coordinator.cold.partition.snapshot.interval.ms"),
        )


@dataclass(frozen=True, slots=True)
class ShareStateTopicSettings:
    """Of `__share_group_state`."""

    partitions: int
    replication_factor: int
    min_insync_replicas: int
    segment_bytes: int

    @classmethod
    def of(cls, config: BrokerConfig) -> "ShareStateTopicSettings":
        return cls(
            partitions=config.int("share.coordinator.state.topic.num.partitions"),
            replication_factor=config.int("share.coordinator.state.topic.replication.factor"),
            min_insync_replicas=config.int("share.coordinator.state.topic.min.isr"),
            segment_bytes=config.int("share.coordinator.state.topic.segment.bytes"),
        )

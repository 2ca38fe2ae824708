"""What a partition log needs to know of its topic's settings, parsed once instead of at each append."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.storage.schema_checks import SchemaChecks, schema_checks_of
from tidelog.wire.compression import Codec

_DAY_MS = 24 * 60 * 60 * 1000
_FOREVER = 2**63 - 1

PRODUCER = "producer"
"""`compression.type` that keeps what the producer chose."""

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


@dataclass(frozen=True, slots=True)
class LogConfig:
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * _DAY_MS
    segment_jitter_ms: int = 0
    index_bytes_max: int = 10 << 20
    index_interval_bytes: int = 4096
    preallocate: bool = False

    delete: bool = True
    """Old segments go, by time and by size."""
    compact: bool = False
    """Older values of a key go."""
    retention_ms: int = 7 * _DAY_MS
    """Negative: for ever."""
    retention_bytes: int = -1
    """Negative: without limit."""
    delete_retention_ms: int = _DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _FOREVER
    min_cleanable_dirty_ratio: float = 0.5
    file_delete_delay_ms: int = 60_000

    flush_messages: int = _FOREVER
    flush_ms: int = _FOREVER

    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    timestamp_before_max_ms: int = _FOREVER
    timestamp_after_max_ms: int = 60 * 60 * 1000
    codec: Codec | None = None
    """None: batches stay as their producer compressed them."""
    compression_level: int | None = None
    validate_records: bool = False
    """Walk every record of a produced batch instead of trusting its header."""
    schema_checks: SchemaChecks | None = None
    """Which schemas records have to have."""
    producer_id_expiration_ms: int = _DAY_MS
    is_replicated: bool = False
    """Other brokers have the log too. Then it must have no holes: the log is truncated at a hole."""

    # What follows from the settings above, so that an append need not work it out again.
    batch_bytes_max: int = field(init=False)
    looks_inside: bool = field(init=False)
    """Some batches, at least, must be walked record by record before they are admitted."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_bytes_max", min(self.max_message_bytes, self.segment_bytes))
        looks_inside = (
            self.compact or self.validate_records or self.codec is not None or self.schema_checks is not None
        )
        object.__setattr__(self, "looks_inside", looks_inside)

    @property
    def index_entries_max(self) -> int:
        return self.index_bytes_max // 8

    @property
    def time_index_entries_max(self) -> int:
        """One slot is kept for the entry that sealing a segment adds."""
        return self.index_bytes_max // 12 - 1

    @classmethod
    def from_topic(cls, settings: Mapping[str, Any]) -> "LogConfig":
        """From a topic's resolved settings under Kafka's names; a missing one keeps its default."""
        given = {field: settings[name] for name, field in _FIELDS.items() if settings.get(name) is not None}
        policy = settings.get("cleanup.policy")
        if policy is not None:
            words = policy if not isinstance(policy, str) else [word.strip() for word in policy.split(",")]
            given["delete"] = "delete" in words
            given["compact"] = "compact" in words
        compression = settings.get("compression.type") or PRODUCER
        if compression != PRODUCER:
            given["codec"] = _CODECS[compression]
            given["compression_level"] = settings.get(f"compression.{compression}.level")
        given["log_append_time"] = settings.get("message.timestamp.type") == "LogAppendTime"
        given["validate_records"] = settings.get("produce.validation") == "records"
        given["schema_checks"] = schema_checks_of(settings)
        return cls(**given)


_FIELDS = {
    "segment.bytes": "segment_bytes",
    "segment.ms": "segment_ms",
    "segment.jitter.ms": "segment_jitter_ms",
    "segment.index.bytes": "index_bytes_max",
    "index.interval.bytes": "index_interval_bytes",
    "preallocate": "preallocate",
    "retention.ms": "retention_ms",
    "retention.bytes": "retention_bytes",
    "delete.retention.ms": "delete_retention_ms",
    "min.compaction.lag.ms": "min_compaction_lag_ms",
    "max.compaction.lag.ms": "max_compaction_lag_ms",
    "min.cleanable.dirty.ratio": "min_cleanable_dirty_ratio",
    "file.delete.delay.ms": "file_delete_delay_ms",
    "flush.messages": "flush_messages",
    "flush.ms": "flush_ms",
    "max.message.bytes": "max_message_bytes",
    "message.timestamp.before.max.ms": "timestamp_before_max_ms",
    "message.timestamp.after.max.ms": "timestamp_after_max_ms",
    "producer.id.expiration.ms": "producer_id_expiration_ms",
}

from tidelog.storage.log_config import LogConfig
from tidelog.wire.compression import Codec


def test_nothing_given_is_kafkas_defaults() -> None:
    config = LogConfig.from_topic({})
    assert config == LogConfig()
    assert (config.segment_bytes, config.retention_ms, config.max_message_bytes) == (
        1_073_741_824,
        604_800_000,
        1_048_588,
    )


def test_settings_under_kafkas_names() -> None:
    config = LogConfig.from_topic(
        {
            "segment.bytes": 1_000,
            "retention.ms": -1,
            "cleanup.policy": ["compact", "delete"],
            "compression.type": "zstd",
            "compression.zstd.level": 9,
            "message.timestamp.type": "LogAppendTime",
            "produce.validation": "records",
            "segment.index.bytes": 800,
        }
    )
    assert (config.segment_bytes, config.retention_ms) == (1_000, -1)
    assert (config.compact, config.delete) == (True, True)
    assert (config.codec, config.compression_level) == (Codec.ZSTD, 9)
    assert config.log_append_time
    assert config.validate_records
    assert (config.index_entries_max, config.time_index_entries_max) == (100, 65)


def test_policy_and_compression_as_words() -> None:
    config = LogConfig.from_topic({"cleanup.policy": "compact", "compression.type": "uncompressed"})
    assert (config.compact, config.delete, config.codec) == (True, False, Codec.NONE)
    assert LogConfig.from_topic({"compression.type": "producer"}).codec is None

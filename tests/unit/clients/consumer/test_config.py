"""What ConsumerConfig accepts, refuses, and tells librdkafka."""

from typing import Any

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer

from tidelog import (
    AssignmentStrategy,
    ConfigurationError,
    ConsumerConfig,
    GroupProtocol,
    OffsetResetPolicy,
)


def config(**fields: Any) -> ConsumerConfig:
    return ConsumerConfig(bootstrap_servers=["localhost:1"], **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"group_id": "g", "auto_offset_reset": OffsetResetPolicy.EARLIEST, "max_poll_records": 500},
        {"group_id": "g", "assignment_strategy": AssignmentStrategy.COOPERATIVE_STICKY},
        {"group_id": "g", "group_protocol": "consumer", "group_remote_assignor": "uniform"},
        {
            "group_id": "g",
            "group_instance_id": "i",
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 2000,
        },
        {"auto_offset_reset": "none", "fetch_max_wait_ms": 0, "buffer_memory": 1024},
        {"extra": {"enable.partition.eof": True}},
    ],
)
def test_librdkafka_accepts_what_we_make(fields: dict[str, Any]) -> None:
    properties = config(**fields).to_librdkafka()
    del properties["bootstrap.servers"]  # so that nothing is connected to
    LibrdkafkaConsumer(properties).close()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"enable_auto_commit": True}, "enable_auto_commit=True needs a group_id"),
        ({"group_instance_id": "i"}, "needs a group_id"),
        ({"assignment_strategy": "range"}, "needs a group_id"),
        ({"group_id": ""}, "group_id is empty"),
        (
            {"group_id": "g", "group_protocol": "consumer", "session_timeout_ms": 9000},
            "contradicts group_protocol",
        ),
        ({"group_id": "g", "group_protocol": "consumer", "assignment_strategy": "range"}, "contradicts"),
        ({"group_id": "g", "group_remote_assignor": "uniform"}, "needs group_protocol"),
        ({"group_id": "g", "heartbeat_interval_ms": 45_000}, "not less than session_timeout_ms"),
        ({"group_id": "g", "max_poll_interval_ms": 10_000}, "more than max_poll_interval_ms"),
        ({"max_partition_fetch_bytes": 2000, "fetch_max_bytes": 1000}, "more than fetch_max_bytes"),
        ({"max_poll_records": 0}, "out of bounds"),
        ({"buffer_records": 1}, "out of bounds"),
        ({"auto_offset_reset": "newest"}, "is not known"),
        ({"extra": {"group.id": "g"}}, "extra sets group.id"),
        ({"extra": {"enable.auto.offset.store": True}}, "may not set enable.auto.offset.store"),
    ],
)
def test_contradictions_are_refused_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        config(**fields)
    assert reason in refusal.value.what


def test_auto_commit_is_on_in_a_group_only() -> None:
    assert config(group_id="g").to_librdkafka()["enable.auto.commit"] is True
    assert config().to_librdkafka()["enable.auto.commit"] is False
    assert config(group_id="g", enable_auto_commit=False).to_librdkafka()["enable.auto.commit"] is False


def test_offsets_are_stored_by_us_when_messages_are_handled() -> None:
    assert config(group_id="g").to_librdkafka()["enable.auto.offset.store"] is False


def test_which_rebalances_are_incremental() -> None:
    assert not config(group_id="g").is_incremental
    assert config(group_id="g", group_protocol=GroupProtocol.CONSUMER).is_incremental
    assert config(group_id="g", assignment_strategy="cooperative-sticky").is_incremental
    assert config(group_id="g", extra={"partition.assignment.strategy": "cooperative-sticky"}).is_incremental

"""What ProducerConfig accepts, refuses, and tells librdkafka."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from confluent_kafka import Producer as LibrdkafkaProducer

from tidelog import AckMode, CompressionType, ConfigurationError, ProducerConfig


def config(**fields: Any) -> ProducerConfig:
    return ProducerConfig(bootstrap_servers=["localhost:1"], **fields)


def accepted(made: ProducerConfig) -> None:
    properties = made.to_librdkafka()
    del properties["bootstrap.servers"]  # so that nothing is connected to
    LibrdkafkaProducer(properties)


def test_the_fields_in_librdkafka_s_words() -> None:
    properties = config(
        acks=AckMode.ALL, linger_ms=10, batch_size=16_384, compression_type="zstd", enable_idempotence=True
    ).to_librdkafka()
    assert (
        properties.items()
        >= {
            "bootstrap.servers": "localhost:1",
            "acks": "all",
            "linger.ms": 10,
            "batch.size": 16_384,
            "compression.type": "zstd",
            "enable.idempotence": True,
        }.items()
    )
    assert "transactional.id" not in properties


@pytest.mark.parametrize("compression", list(CompressionType))
def test_librdkafka_accepts_what_we_make(compression: CompressionType) -> None:
    accepted(config(compression_type=compression))


@pytest.mark.parametrize(
    "fields",
    [
        {"acks": AckMode.NONE},
        {"acks": AckMode.LEADER, "max_in_flight": 100, "retries": 0},
        {"transactional_id": "t"},
        {"transactional_id": "t", "transaction_timeout_ms": 120_000},
        {"transactional_id": "t", "transaction_timeout_ms": 5000},
        {"buffer_memory": 1_000_000, "buffer_records": 1},
        {"extra": {"socket.keepalive.enable": True, "statistics.interval.ms": 1000}},
        {"delivery_timeout_ms": 1000, "linger_ms": 0},
    ],
)
def test_librdkafka_accepts_odd_but_sound_ones(fields: dict[str, Any]) -> None:
    accepted(config(**fields))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"acks": AckMode.NONE, "enable_idempotence": True}, "contradicts acks=AckMode.NONE"),
        ({"acks": AckMode.LEADER, "enable_idempotence": True}, "contradicts acks=AckMode.LEADER"),
        ({"max_in_flight": 6}, "contradicts max_in_flight=6"),
        ({"retries": 0}, "contradicts retries=0"),
        ({"transactional_id": "t", "enable_idempotence": False}, "contradicts enable_idempotence=False"),
        (
            {"transactional_id": "t", "acks": AckMode.LEADER},
            "transactional_id contradicts acks=AckMode.LEADER",
        ),
        ({"transactional_id": ""}, "transactional_id is empty"),
        ({"transaction_timeout_ms": 5000}, "without transactional_id"),
        (
            {"transactional_id": "t", "transaction_timeout_ms": 5000, "delivery_timeout_ms": 6000},
            "shorter than delivery_timeout_ms",
        ),
        ({"batch_size": 0}, "batch_size=0 is out of bounds"),
        ({"batch_size": 2**31}, "out of bounds"),
        ({"batch_size": 1.5}, "not a whole number"),
        ({"linger_ms": True}, "not a whole number"),
        ({"linger_ms": -1}, "linger_ms=-1 is out of bounds"),
        ({"linger_ms": 5000, "delivery_timeout_ms": 5000}, "not longer than linger_ms"),
        ({"buffer_memory": 2000}, "less than max_request_size"),
        ({"compression_type": "brotli"}, "compression_type='brotli' is not known"),
        ({"acks": "two"}, "acks='two' is not known"),
        ({"extra": {"acks": 1}}, "extra sets acks"),
        ({"extra": {"request.required.acks": 1}}, "extra sets request.required.acks"),
        ({"request_timeout_ms": 1}, "request_timeout_ms=1 is out of bounds"),
    ],
)
def test_contradictions_are_refused_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        config(**fields)
    assert reason in refusal.value.what
    assert refusal.value.what_to_do
    assert isinstance(refusal.value, ValueError)


def test_idempotence_follows_the_acks_unless_given() -> None:
    assert config().is_idempotent
    assert not config(acks=AckMode.LEADER).is_idempotent
    assert not config(enable_idempotence=False).is_idempotent


@pytest.mark.parametrize("servers", ["a:1,b:2", " a:1 , b:2,", ["a:1", "b:2"], ("a:1", "b:2")])
def test_servers_as_text_or_list(servers: Any) -> None:
    assert ProducerConfig(bootstrap_servers=servers).bootstrap_servers == ("a:1", "b:2")


@pytest.mark.parametrize("servers", ["", [], [""], ","])
def test_no_servers(servers: Any) -> None:
    with pytest.raises(ConfigurationError, match="bootstrap_servers is empty"):
        ProducerConfig(bootstrap_servers=servers)


def test_a_config_never_changes() -> None:
    given = {"socket.keepalive.enable": True}
    made = config(extra=given)
    given["debug"] = True
    assert "debug" not in made.to_librdkafka()
    with pytest.raises(FrozenInstanceError):
        made.linger_ms = 7  # type: ignore[misc]
    with pytest.raises(TypeError):
        made.extra["debug"] = "all"  # type: ignore[index]


def test_words_may_be_text() -> None:
    assert config(acks="all").acks is AckMode.ALL  # the value
    assert config(acks="none").acks is AckMode.NONE  # or the name
    assert config(compression_type="LZ4").compression_type is CompressionType.LZ4

"""A dict in place of a configuration: Kafka's names, librdkafka's names, and those of the fields."""

from typing import Any

import pytest

from tidelog import AckMode, AdminConfig, ConfigurationError, ConsumerConfig, ProducerConfig

SERVERS = {"bootstrap.servers": "localhost:1"}


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"linger.ms": 10}, "linger_ms", 10),
        ({"linger_ms": 10}, "linger_ms", 10),
        ({"queue.buffering.max.ms": "10"}, "linger_ms", 10),
        ({"acks": -1}, "acks", AckMode.ALL),
        ({"acks": 1}, "acks", AckMode.LEADER),
        ({"delivery.timeout.ms": 7000}, "delivery_timeout_ms", 7000),
        ({"message.timeout.ms": 7000}, "delivery_timeout_ms", 7000),
        ({"enable.idempotence": "true"}, "enable_idempotence", True),
        ({"queue.buffering.max.kbytes": 4096}, "buffer_memory", 4096 * 1024),
        ({"max.in.flight": 3}, "max_in_flight", 3),
        ({"socket.keepalive.enable": True}, "extra", {"socket.keepalive.enable": True}),
        ({"extra": {"debug": "msg"}}, "extra", {"debug": "msg"}),
    ],
)
def test_names_of_all_kinds(given: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(ProducerConfig.of(SERVERS | given), field) == value


def test_what_librdkafka_would_get_makes_the_same_configuration() -> None:
    for config in (
        ProducerConfig(
            bootstrap_servers="a:1,b:2", linger_ms=3, compression_type="zstd", transactional_id="t"
        ),
        ConsumerConfig(
            bootstrap_servers="a:1", group_id="g", assignment_strategy="range", extra={"debug": "cgrp"}
        ),
        AdminConfig(bootstrap_servers="a:1", client_id="me"),
    ):
        properties = config.to_librdkafka()
        properties.pop("enable.auto.offset.store", None)  # the client's own business
        again = type(config).of(properties)
        assert again.to_librdkafka() == config.to_librdkafka()


def test_a_configuration_stays_what_it_is() -> None:
    config = ProducerConfig(bootstrap_servers="a:1")
    assert ProducerConfig.of(config) is config


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "bootstrap.servers is missing"),
        (SERVERS | {"bootstrap_servers": "b:1"}, "are the same setting, and differ"),
        (SERVERS | {"linger.ms": "soon"}, "linger_ms='soon' is not a whole number"),
        (SERVERS | {"retries": 0}, "contradicts retries=0"),
        ("localhost:9092", "ProducerConfig or a dict is wanted, not str"),
        (AdminConfig(bootstrap_servers="a:1"), "not AdminConfig"),
    ],
)
def test_what_is_refused(given: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ProducerConfig.of(given)
    assert reason in caught.value.what
    assert caught.value.what_to_do

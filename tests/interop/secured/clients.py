"""A round trip with each client: records in and out over a connection that was authenticated."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple

import aiokafka
import aiokafka.abc
import confluent_kafka
import kafka
from kafka.net.sasl.oauth import AbstractTokenProvider

VALUES = [b"one", b"two", b"three"]
PATIENCE_S = 20.0


class Login(NamedTuple):
    bootstrap: str
    mechanism: str
    username: str
    password: str
    """For OAUTHBEARER the token."""
    ca: str | None
    """None: without TLS."""


def librdkafka(login: Login, topic: str) -> list[bytes]:
    properties: dict[str, Any] = {
        "bootstrap.servers": login.bootstrap,
        "security.protocol": "SASL_SSL" if login.ca else "SASL_PLAINTEXT",
        "sasl.mechanism": login.mechanism,
    }
    if login.ca:
        properties["ssl.ca.location"] = login.ca
    if login.mechanism == "OAUTHBEARER":
        properties["oauth_cb"] = lambda _: (login.password, 4e9)
    else:
        properties |= {"sasl.username": login.username, "sasl.password": login.password}
    producer = confluent_kafka.Producer(properties)
    producer.poll(0)
    for value in VALUES:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer(properties | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    got = [message.value() for message in consumer.consume(len(VALUES), PATIENCE_S)]
    consumer.close()
    return got


def kafka_python(login: Login, topic: str) -> list[bytes]:
    class Provider(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return login.password

    options: dict[str, Any] = {
        "bootstrap_servers": login.bootstrap,
        "security_protocol": "SASL_SSL" if login.ca else "SASL_PLAINTEXT",
        "sasl_mechanism": login.mechanism,
        "ssl_cafile": login.ca,
    }
    if login.mechanism == "OAUTHBEARER":
        options["sasl_oauth_token_provider"] = Provider()
    else:
        options |= {"sasl_plain_username": login.username, "sasl_plain_password": login.password}
    producer = kafka.KafkaProducer(**options)
    for future in [producer.send(topic, value) for value in VALUES]:
        future.get(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, auto_offset_reset="earliest", consumer_timeout_ms=int(PATIENCE_S * 1000), **options
    )
    got = [message.value for _, message in zip(VALUES, consumer, strict=False)]
    consumer.close()
    return got


def aiokafka_client(login: Login, topic: str) -> list[bytes]:
    class Provider(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return login.password

    async def round_trip() -> list[bytes]:
        options: dict[str, Any] = {
            "bootstrap_servers": login.bootstrap,
            "security_protocol": "SASL_SSL" if login.ca else "SASL_PLAINTEXT",
            "sasl_mechanism": login.mechanism,
            "ssl_context": ssl.create_default_context(cafile=login.ca) if login.ca else None,
        }
        if login.mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = Provider()
        else:
            options |= {"sasl_plain_username": login.username, "sasl_plain_password": login.password}
        async with aiokafka.AIOKafkaProducer(**options) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value)
        async with aiokafka.AIOKafkaConsumer(topic, auto_offset_reset="earliest", **options) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value for _ in VALUES]

    return asyncio.run(round_trip())


PYTHON_CLIENTS: dict[str, Callable[[Login, str], list[bytes]]] = {
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka_client,
}
AGENTS = ("franz-go", "kafkajs")
"""Their `secured` command makes the same round trip."""

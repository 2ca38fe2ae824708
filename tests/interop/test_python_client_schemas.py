"""The Python client with schemas, against the registry of an in-process broker."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from google.protobuf.timestamp_pb2 import Timestamp

from tidelog import (
    Consumer,
    Producer,
    TopicPartition,
    avro_serializer,
    json_schema_serializer,
    protobuf_serializer,
    schema_deserializer,
    text_serializer,
)
from tidelog.testing import Broker

ORDER = '{"type":"record","name":"Order","fields":[{"name":"number","type":"long"}]}'


@dataclass
class Order:
    number: int


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def sent_and_read(broker: Broker, serializer: Any, deserializer: Any, value: Any) -> Any:
    topic = f"t-{uuid.uuid4().hex}"
    with Producer(
        {"bootstrap.servers": broker.bootstrap_servers},
        key_serializer=text_serializer,
        value_serializer=serializer,
    ) as producer:
        producer.send(topic, value, key="k").result()
    with Consumer(
        {"bootstrap.servers": broker.bootstrap_servers}, value_deserializer=deserializer
    ) as consumer:
        consumer.assign({TopicPartition(topic, 0): 0})
        for message in consumer:
            return message.value


def test_each_kind_goes_through_a_topic(running: Broker) -> None:
    url = running.schema_registry_url
    reader = schema_deserializer(url)
    assert sent_and_read(running, avro_serializer(url, ORDER), reader, Order(7)) == {"number": 7}
    assert sent_and_read(
        running, avro_serializer(url, ORDER), schema_deserializer(url, Order), Order(7)
    ) == Order(7)
    checked = json_schema_serializer(url, {"title": "Order", "type": "object"})
    assert sent_and_read(running, checked, reader, Order(7)) == {"number": 7}
    moments = protobuf_serializer(url, Timestamp)
    at = Timestamp(seconds=3)
    assert sent_and_read(running, moments, schema_deserializer(url, Timestamp), at) == at
    assert sent_and_read(running, moments, reader, at) == "1970-01-01T00:00:03Z"


def test_confluent_s_serializers_and_ours_read_each_other(running: Broker) -> None:
    url = running.schema_registry_url
    client = SchemaRegistryClient({"url": url})
    theirs, reader = AvroSerializer(client, ORDER), AvroDeserializer(client)
    assert sent_and_read(running, theirs, schema_deserializer(url), {"number": 7}) == {"number": 7}
    assert sent_and_read(running, avro_serializer(url, ORDER), reader, {"number": 7}) == {"number": 7}


def test_confluent_s_serializers_may_write_the_schema_to_a_header(running: Broker) -> None:
    url = running.schema_registry_url
    theirs = AvroSerializer(
        SchemaRegistryClient({"url": url}), ORDER, conf={"schema.id.serializer": header_schema_id_serializer}
    )
    assert sent_and_read(running, theirs, schema_deserializer(url), {"number": 7}) == {"number": 7}


def test_the_fixture_has_a_registry(tidelog_broker: Broker) -> None:
    assert tidelog_broker.schema_registry_url.startswith("http://")
    assert sent_and_read(
        tidelog_broker,
        avro_serializer(tidelog_broker.schema_registry_url, ORDER),
        schema_deserializer(tidelog_broker.schema_registry_url, Order),
        Order(1),
    ) == Order(1)

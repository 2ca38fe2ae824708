"""confluent-kafka's serializers with our registry: records of each kind, with references, go through a topic.

All of them share a broker in this process. What a serializer registers, under which subject, is its own
choice; a deserializer finds the schema by the id in the record.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tidelog.testing import Broker

_numbers = itertools.count()
ADA = {"name": "Ada", "address": {"zip": "1010"}}

AVRO_ADDRESS = {
    "type": "record",
    "name": "Address",
    "namespace": "shop",
    "fields": [{"name": "zip", "type": "string"}],
}
AVRO_PERSON = {
    "type": "record",
    "name": "Person",
    "namespace": "shop",
    "fields": [{"name": "name", "type": "string"}, {"name": "address", "type": "shop.Address"}],
}
JSON_ADDRESS = {"type": "object", "properties": {"zip": {"type": "string"}}, "additionalProperties": False}
JSON_PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "address": {"$ref": "address.json"}},
    "required": ["name"],
}


def proto_messages() -> tuple[Any, Any]:
    """The messages Address and Person, each of a file of its own, as protoc would make them."""
    pool = descriptor_pool.DescriptorPool()
    text = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    message = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    address = descriptor_pb2.FileDescriptorProto(name="shop/address.proto", package="shop", syntax="proto3")
    address.message_type.add(name="Address").field.add(name="zip", number=1, type=text, label=1)
    person = descriptor_pb2.FileDescriptorProto(name="shop/person.proto", package="shop", syntax="proto3")
    person.dependency.append("shop/address.proto")
    fields = person.message_type.add(name="Person").field
    fields.add(name="name", number=1, type=text, label=1)
    fields.add(name="address", number=2, type=message, type_name=".shop.Address", label=1)
    for file in (address, person):
        pool.Add(file)
    found = [pool.FindMessageTypeByName(f"shop.{name}") for name in ("Address", "Person")]
    return message_factory.GetMessageClass(found[0]), message_factory.GetMessageClass(found[1])


Address, Person = proto_messages()


@pytest.fixture(scope="module")
def testing_broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def registry(testing_broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": testing_broker.schema_registry_url}) as client:
        yield client


@pytest.fixture
def topic() -> str:
    return f"people-{next(_numbers)}"


class Records:
    """One record into a topic, and out of it again."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker, self._topic = broker, topic
        self.context = SerializationContext(topic, MessageField.VALUE, headers=[])

    def roundtrip(self, serialize: Any, value: Any, deserialize: Any) -> Any:
        producer = Producer({"bootstrap.servers": self._broker.bootstrap_servers})
        producer.produce(self._topic, serialize(value, self.context), headers=self.context.headers)
        assert producer.flush(20) == 0
        consumer = Consumer(
            {
                "bootstrap.servers": self._broker.bootstrap_servers,
                "group.id": f"readers-{next(_numbers)}",
                "auto.offset.reset": "earliest",
            }
        )
        try:
            consumer.subscribe([self._topic])
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            context = SerializationContext(self._topic, MessageField.VALUE, headers=message.headers() or [])
            return deserialize(message.value(), context)
        finally:
            consumer.close()


@pytest.fixture
def records(testing_broker: Broker, topic: str) -> Records:
    return Records(testing_broker, topic)


def referring(registry: SchemaRegistryClient, kind: str, schema: Any, name: str, subject: str) -> Schema:
    """The schema of a person, which refers by a name to the first version of a subject."""
    address = AVRO_ADDRESS if kind == "AVRO" else JSON_ADDRESS
    registry.register_schema(subject, Schema(json.dumps(address), kind))
    return Schema(json.dumps(schema), kind, [SchemaReference(name, subject, 1)])


def test_avro_with_a_reference(registry: SchemaRegistryClient, records: Records, topic: str) -> None:
    schema = referring(registry, "AVRO", AVRO_PERSON, "shop.Address", f"{topic}-address")
    serialize = AvroSerializer(registry, schema)
    assert records.roundtrip(serialize, ADA, AvroDeserializer(registry)) == ADA
    stored = registry.get_latest_version(f"{topic}-value")
    assert stored.schema.references == schema.references
    assert registry.get_referenced_by(f"{topic}-address", 1) == [stored.schema_id]


def test_json_with_a_reference(registry: SchemaRegistryClient, records: Records, topic: str) -> None:
    schema = referring(registry, "JSON", JSON_PERSON, "address.json", f"{topic}-address")
    serialize = JSONSerializer(schema, registry)
    assert records.roundtrip(serialize, ADA, JSONDeserializer(None, schema_registry_client=registry)) == ADA
    assert registry.get_latest_version(f"{topic}-value").schema.schema_type == "JSON"
    with pytest.raises(SerializationError):
        serialize({"name": "Ada", "address": {"zip": 5}}, records.context)


def test_protobuf_with_a_reference(registry: SchemaRegistryClient, records: Records, topic: str) -> None:
    person = Person(name="Ada", address=Address(zip="1010"))
    serialize = ProtobufSerializer(Person, registry, {"use.deprecated.format": False})
    deserialize = ProtobufDeserializer(Person, {"use.deprecated.format": False}, registry)
    assert records.roundtrip(serialize, person, deserialize) == person
    stored = registry.get_latest_version(f"{topic}-value").schema
    assert stored.schema_type == "PROTOBUF"
    assert [reference.name for reference in stored.references] == ["shop/address.proto"]
    assert 'import "shop/address.proto";' in stored.schema_str
    assert "message Address" in registry.get_latest_version("shop/address.proto").schema.schema_str


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        (topic_subject_name_strategy, "{topic}-value"),
        (record_subject_name_strategy, "shop.Address"),
        (topic_record_subject_name_strategy, "{topic}-shop.Address"),
    ],
)
def test_subject_name_strategies(
    registry: SchemaRegistryClient, records: Records, topic: str, strategy: Any, subject: str
) -> None:
    named = {"subject.name.strategy": strategy}
    serialize = AvroSerializer(registry, json.dumps(AVRO_ADDRESS), conf=named)
    deserialize = AvroDeserializer(registry, conf=named)
    assert records.roundtrip(serialize, {"zip": "1"}, deserialize) == {"zip": "1"}
    assert subject.format(topic=topic) in registry.get_subjects()

    message = ProtobufSerializer(Address, registry, {**named, "use.deprecated.format": False})
    if strategy is not topic_subject_name_strategy:  # a subject holds schemas of one kind
        with pytest.raises(SchemaRegistryError) as refused:
            message(Address(zip="1"), records.context)
        assert refused.value.http_status_code == 409


def test_normalized_schemas_of_different_order_are_one(
    registry: SchemaRegistryClient, records: Records, topic: str
) -> None:
    turned = dict(reversed(JSON_ADDRESS.items()))
    normalize = {"normalize.schemas": True}
    JSONSerializer(json.dumps(JSON_ADDRESS), registry, conf=normalize)({"zip": "1"}, records.context)
    JSONSerializer(json.dumps(turned), registry, conf=normalize)({"zip": "1"}, records.context)
    assert registry.get_versions(f"{topic}-value") == [1]
    stored = registry.get_version(f"{topic}-value", 1).schema
    assert list(json.loads(stored.schema_str)) == sorted(JSON_ADDRESS)


def test_the_latest_version_is_used_and_nothing_is_registered(
    registry: SchemaRegistryClient, records: Records, topic: str
) -> None:
    longer = {
        **AVRO_ADDRESS,
        "fields": [*AVRO_ADDRESS["fields"], {"name": "city", "type": "string", "default": "?"}],
    }
    registry.register_schema(f"{topic}-value", Schema(json.dumps(AVRO_ADDRESS), "AVRO"))
    registry.register_schema(f"{topic}-value", Schema(json.dumps(longer), "AVRO"))
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    serialize = AvroSerializer(registry, conf=latest)
    read = records.roundtrip(serialize, {"zip": "1", "city": "Vienna"}, AvroDeserializer(registry))
    assert read == {"zip": "1", "city": "Vienna"}
    older = AvroDeserializer(registry, json.dumps(AVRO_ADDRESS))
    assert older(serialize({"zip": "1", "city": "Vienna"}, records.context), records.context) == {"zip": "1"}
    assert registry.get_versions(f"{topic}-value") == [1, 2]


def test_a_serializer_without_registration_needs_a_known_schema(
    registry: SchemaRegistryClient, records: Records
) -> None:
    serialize = AvroSerializer(registry, json.dumps(AVRO_ADDRESS), conf={"auto.register.schemas": False})
    with pytest.raises(SchemaRegistryError) as refused:
        serialize({"zip": "1"}, records.context)
    assert refused.value.error_code in (40401, 40403)


def test_an_incompatible_schema_stops_the_serializer_with_the_reason(
    registry: SchemaRegistryClient, records: Records
) -> None:
    other = {**AVRO_ADDRESS, "fields": [{"name": "zip", "type": "int"}]}
    AvroSerializer(registry, json.dumps(AVRO_ADDRESS))({"zip": "1"}, records.context)
    with pytest.raises(SchemaRegistryError) as refused:
        AvroSerializer(registry, json.dumps(other))({"zip": 1}, records.context)
    assert refused.value.http_status_code == 409
    assert "TYPE_MISMATCH" in refused.value.error_message


def test_schema_ids_in_headers(registry: SchemaRegistryClient, records: Records) -> None:
    """By a GUID in a header instead of an id before the value."""
    serialize = JSONSerializer(
        json.dumps(JSON_ADDRESS), registry, conf={"schema.id.serializer": header_schema_id_serializer}
    )
    deserialize = JSONDeserializer(None, schema_registry_client=registry)
    assert records.roundtrip(serialize, {"zip": "1"}, deserialize) == {"zip": "1"}

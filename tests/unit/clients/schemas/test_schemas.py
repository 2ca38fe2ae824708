"""Serializers with schemas: subjects, objects, what is registered when, and a registry that is away."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest
from confluent_kafka.serialization import StringDeserializer, StringSerializer

from tests.rigs.local_registry import LocalRegistry
from tests.rigs.registry_client import client_of
from tests.unit.blocking.registry.scripted_http import A, Answer, ScriptedHttp, refused
from tidelog import (
    ConnectionFailed,
    DeserializationError,
    SerializationError,
    TopicPartition,
    avro_serializer,
    json_schema_serializer,
    protobuf_serializer,
    schema_deserializer,
)
from tidelog.blocking.registry.framing import prefix
from tidelog.clients.consumer.intake import Intake
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.schemas.confluent import own_deserializer, own_serializer
from tidelog.clients.schemas.subjects import SubjectName, subject_for
from tidelog.clients.serializers import deserialize, json_serializer, serialize

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "number", "type": "long"}],
}
BYTES = prefix(5) + b"\x0e"


@dataclass
class Order:
    number: int


class OrderModel(pydantic.BaseModel):
    number: int


def scripted(*answers: Any) -> tuple[ScriptedHttp, Any]:
    script = ScriptedHttp({A: list(answers)})
    return script, script.client(retry_s=0.0)


def read(deserializer: Callable[[bytes], Any], data: bytes, **more: Any) -> Any:
    place = TopicPartition("orders", 0)
    return deserialize(deserializer, data, "value", place=place, offset=3, key=None, value=data, **more)


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("topic", "orders-value"),
        ("record", "shop.Order"),
        ("topic_record", "orders-shop.Order"),
        (lambda topic, record, is_key: f"{topic}/{record}/{is_key}", "orders/shop.Order/False"),
    ],
)
def test_the_schema_is_registered_once_under_the_subject(strategy: SubjectName, subject: str) -> None:
    from urllib.parse import quote

    script, client = scripted(Answer({"id": 5}))
    serializer = avro_serializer(client, ORDER, subject_name=strategy)
    assert [serialize(serializer, {"number": 7}, "value", "orders") for _ in range(2)] == [BYTES, BYTES]
    assert script.targets == [f"POST /subjects/{quote(subject, safe='')}/versions"]


def test_keys_have_a_subject_of_their_own() -> None:
    assert subject_for("topic", "orders", "", True) == "orders-key"
    with pytest.raises(ValueError, match="has no name"):
        subject_for("record", "orders", "", True)
    with pytest.raises(ValueError, match="subject_name is 'topics'"):
        avro_serializer("http://a", ORDER, subject_name="topics")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{"number": 7}, Order(7), OrderModel(number=7)])
def test_dicts_dataclasses_and_models_are_written(value: Any) -> None:
    _, client = scripted(Answer({"id": 5}), Answer({"id": 6}))
    assert serialize(avro_serializer(client, ORDER), value, "value", "orders") == BYTES
    made = serialize(json_schema_serializer(client, OrderModel), value, "value", "orders")
    assert made == prefix(6) + b'{"number":7}'


@pytest.mark.parametrize(
    ("to", "value"), [(None, {"number": 7}), (Order, Order(7)), (OrderModel, OrderModel(number=7))]
)
def test_dicts_dataclasses_and_models_are_read(to: Any, value: Any) -> None:
    import json

    _, client = scripted(Answer({"schema": json.dumps(ORDER)}))
    assert read(schema_deserializer(client, to), BYTES) == value


def test_a_schema_may_stand_in_a_header() -> None:
    import json
    import uuid

    _, client = scripted(Answer({"schema": json.dumps(ORDER)}))
    guid = b"\x01" + uuid.UUID(int=9).bytes
    assert read(schema_deserializer(client), b"\x0e", headers=[("__value_schema_id", guid)]) == {"number": 7}


def test_protobuf_with_a_generated_class() -> None:
    from google.protobuf.timestamp_pb2 import Timestamp

    script, client = scripted(Answer({"id": 5}))
    data = serialize(protobuf_serializer(client, Timestamp), Timestamp(seconds=3), "value", "orders")
    assert data == prefix(5) + b"\0\x08\x03"
    assert script.asked[0].body["schemaType"] == "PROTOBUF"
    assert read(schema_deserializer(client, Timestamp), data) == Timestamp(seconds=3)
    assert len(script.asked) == 1, "a generated class needs no schema to read"
    with pytest.raises(
        SerializationError, match=r"a message google\.protobuf\.Timestamp is wanted, not dict"
    ):
        serialize(protobuf_serializer(scripted(Answer({"id": 5}))[1], Timestamp), {}, "value", "orders")


@pytest.fixture(scope="module")
def importing() -> Any:
    """A generated class whose file imports another one."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    money = descriptor_pb2.FileDescriptorProto(name="money.proto", package="shop", syntax="proto3")
    money.message_type.add(name="Money")
    order = descriptor_pb2.FileDescriptorProto(
        name="order.proto", package="shop", syntax="proto3", dependency=["money.proto"]
    )
    message = order.message_type.add(name="Order")
    message.field.add(name="price", number=1, type=11, label=1, type_name=".shop.Money")
    pool.Add(money)
    pool.Add(order)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


@pytest.mark.parametrize("prefix_of_context", ["", ":.staging:"])
def test_imports_of_protobuf_are_registered_in_the_context_of_the_subject(
    importing: Any, prefix_of_context: str
) -> None:
    registry = LocalRegistry()
    subject = f"{prefix_of_context}orders-value"
    how: dict[str, Any] = {"subject_name": lambda *_: subject}
    serializer = protobuf_serializer(client_of(registry), importing, **how)
    serializer.serialize_for("orders", False, importing())
    assert registry.get("/subjects").json == sorted([f"{prefix_of_context}money.proto", subject])
    registry.put("/mode", {"mode": "READONLY"})
    found = protobuf_serializer(client_of(registry), importing, auto_register=False, **how)
    assert found.serialize_for("orders", False, importing())[:5] == prefix(2)


def test_without_auto_register_no_import_is_registered(importing: Any) -> None:
    registry = LocalRegistry()
    serializer = protobuf_serializer(client_of(registry), importing, auto_register=False)
    with pytest.raises(LookupError, match=r"the subject money\.proto has no such schema"):
        serializer.serialize_for("orders", False, importing())
    assert registry.get("/subjects").json == []


def test_without_auto_register_an_unknown_schema_is_refused() -> None:
    _, client = scripted(refused(40403))
    with pytest.raises(SerializationError, match="tidelog schema register orders-value"):
        serialize(avro_serializer(client, ORDER, auto_register=False), Order(7), "value", "orders")


def test_the_latest_schema_may_be_used_instead() -> None:
    latest = {"subject": "orders-value", "version": 3, "id": 9, "schema": '"long"'}
    _, client = scripted(Answer(latest))
    assert (
        serialize(avro_serializer(client, ORDER, use_latest=True), 7, "value", "orders")
        == prefix(9) + b"\x0e"
    )


def test_values_that_do_not_fit_say_so() -> None:
    _, client = scripted(Answer({"id": 5}))
    with pytest.raises(SerializationError, match="does not fit the Avro schema") as caught:
        serialize(avro_serializer(client, ORDER), {"number": "x"}, "value", "orders")
    assert "schema" in caught.value.likely_cause


def test_records_without_a_schema_say_so() -> None:
    with pytest.raises(DeserializationError, match="it names no schema"):
        read(schema_deserializer(scripted()[1]), b"{}")


def test_a_registry_that_is_away_is_no_fault_of_the_record() -> None:
    _, client = scripted()
    with pytest.raises(ConnectionFailed, match="No schema registry answers"):
        serialize(avro_serializer(client, ORDER), Order(7), "value", "orders")
    with pytest.raises(ConnectionFailed):
        read(schema_deserializer(client), BYTES)


class RawMessage:
    def __init__(self, value: bytes) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        facts = {
            "error": None, "topic": "orders", "partition": 0, "offset": 3, "key": None, "value": self._value,
            "timestamp": (0, 0), "headers": None, "leader_epoch": None,
        }  # fmt: skip
        return lambda: facts[name]


def test_a_consumer_waits_for_the_registry_and_passes_over_no_message() -> None:
    script, client = scripted()
    intake = Intake(lambda data: data, schema_deserializer(client))
    intake.add([RawMessage(BYTES)])
    for _ in range(2):
        with pytest.raises(ConnectionFailed):
            intake.take(10)
    script.answers[A] = [Answer({"schema": '"long"'})]
    assert [message.value for message in intake.take(10)] == [7]


def test_confluent_s_own_serializers_know_their_topic() -> None:
    assert serialize(own_serializer(StringSerializer("utf_8")), "ä", "key", "orders") == "ä".encode()
    assert read(own_deserializer(StringDeserializer("utf_8")), b"x") == "x"
    assert own_serializer(json_serializer) is json_serializer


def test_a_serializer_outside_of_a_producer_wants_the_topic() -> None:
    _, client = scripted(Answer({"id": 5}))
    serializer = avro_serializer(client, ORDER)
    assert serializer.serialize_for("orders", False, Order(7)) == BYTES
    with pytest.raises(TypeError, match="has to know the topic"):
        serializer(Order(7))


def test_a_bad_url_is_a_bad_configuration() -> None:
    with pytest.raises(ConfigurationError, match="no URL of a schema registry"):
        avro_serializer("ftp://x", ORDER)

"""Keys and values read by the schema ids that they carry, whichever kind of schema that is."""

from collections.abc import Callable, Iterable
from typing import Any, overload

from tidelog.blocking.registry.decoding import RecordDecoder
from tidelog.blocking.registry.errors import UndecodableRecord
from tidelog.blocking.registry.framing import framed
from tidelog.clients.schemas.objects import maker_of
from tidelog.clients.schemas.registries import Registry, reaching, registry_client
from tidelog.clients.serializers import Deserializer, HeaderDeserializer, Object

NO_SCHEMA = (
    "it names no schema: no schema id stands before the data, nor in a header; "
    "the producer wrote it without a registry"
)


class SchemaDeserializer(HeaderDeserializer):
    def __init__(self, registry: Registry, to: Any = None) -> None:
        self._decoder = RecordDecoder(registry_client(registry))
        self._make = maker_of(to)

    def deserialize_with(
        self, topic: str, headers: Iterable[tuple[str, bytes | None]], is_key: bool, data: bytes
    ) -> Any:
        with reaching():
            found = self._decoder.decode(data, headers=headers, is_key=is_key)
        if found is None:
            raise UndecodableRecord(NO_SCHEMA)
        return self._make(found.value)


class MessageDeserializer(HeaderDeserializer):
    """Protobuf with a generated class, which reads what it knows of any version: no request is made."""

    def __init__(self, message: Any) -> None:
        from tidelog.clients.schemas.protobuf import MessageCodec

        self._codec = MessageCodec(message)

    def deserialize_with(
        self, topic: str, headers: Iterable[tuple[str, bytes | None]], is_key: bool, data: bytes
    ) -> Any:
        found = framed(data, headers, is_key=is_key)
        if found is None:
            raise UndecodableRecord(NO_SCHEMA)
        return self._codec.decode(found)


@overload
def schema_deserializer(registry: Registry) -> Deserializer[Any]: ...
@overload
def schema_deserializer(registry: Registry, to: type[Object]) -> Deserializer[Object]: ...
@overload
def schema_deserializer(registry: Registry, to: Callable[[Any], Object]) -> Deserializer[Object]: ...
def schema_deserializer(registry: Registry, to: Any = None) -> Any:
    """Returns a deserializer that decodes Avro, JSON and Protobuf by the schema ids that records carry.

    A schema is asked for once. Avro and Protobuf need `pip install 'tidelog[schemas]'`.

    Example:
        from dataclasses import dataclass

        from tidelog import Consumer, ConsumerConfig, schema_deserializer

        @dataclass
        class Order:
            number: int

        config = ConsumerConfig(bootstrap_servers=["localhost:9092"], group_id="billing")
        orders = schema_deserializer("http://localhost:8081", to=Order)
        with Consumer(config, value_deserializer=orders) as consumer:
            consumer.subscribe(["orders"])

    Args:
        registry: Its URL, or several with commas between them; or a mapping, as for `avro_serializer`.
        to: What values become: a dataclass, a pydantic model, a class that protoc has generated, or a
            function of the decoded value. None: dicts, lists, numbers and texts; Protobuf in its JSON form.
    """
    if hasattr(to, "DESCRIPTOR") and hasattr(to, "FromString"):
        return MessageDeserializer(to)
    return SchemaDeserializer(registry, to)

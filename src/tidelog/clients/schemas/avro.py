"""Avro values with a schema of a registry."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.codecs import Codec, codec_of
from tidelog.clients.schemas.objects import plain
from tidelog.clients.schemas.registries import Registry
from tidelog.clients.schemas.subjects import SubjectName
from tidelog.clients.schemas.writing import SchemaSerializer
from tidelog.registry.schema import Reference, Schema, SchemaType


class _AvroSerializer(SchemaSerializer):
    def __init__(self, registry: Registry, schema: Schema, **how: Any) -> None:
        super().__init__(registry, **how)
        self._schema = schema
        self._name = _full_name(json.loads(schema.text))

    def record_name(self) -> str:
        return self._name

    def own_schema(self, client: RegistryClient, subject: str) -> Schema:
        return self._schema

    def codec(self, schema: Schema, client: RegistryClient, subject: str) -> Codec:
        return codec_of(schema, client.dependencies(schema, subject))

    def plain(self, value: Any) -> Any:
        return plain(value)


def avro_serializer(
    registry: Registry,
    schema: str | Mapping[str, Any],
    *,
    references: Sequence[tuple[str, str, int]] = (),
    subject_name: SubjectName = "topic",
    auto_register: bool = True,
    use_latest: bool = False,
    normalize: bool = False,
) -> SchemaSerializer:
    """Returns a serializer for Avro with a schema of a registry.

    Each value is a dict, a dataclass or a pydantic model. The first record for a topic registers the schema;
    after that no request is made. It needs `pip install 'tidelog[schemas]'`.

    Example:
        from tidelog import Producer, ProducerConfig, avro_serializer

        schema = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "long"}]}
        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        orders = avro_serializer("http://localhost:8081", schema)
        with Producer(config, value_serializer=orders) as producer:
            producer.send("orders", {"number": 1})

    Args:
        registry: Its URL, or several with commas between them; or a mapping with Confluent's properties:
            `{"url": "https://…", "basic.auth.user.info": "user:password", "ssl.ca.location": "ca.pem"}`.
        schema: The schema, as JSON text or as a dict.
        references: Registered schemas that it names: name, subject and version of each.
        subject_name: What the schema is registered under: "topic" (`orders-value`), "record" (the record's
            full name), "topic_record", or a function of topic, record name and whether it is a key.
        auto_register: Whether a schema that the subject does not have is registered. False refuses it.
        use_latest: Write with the latest schema of the subject instead of this one.
        normalize: Whether texts that differ in no meaning are one schema.
    """
    text = schema if isinstance(schema, str) else json.dumps(schema)
    made = Schema(SchemaType.AVRO, text, tuple(Reference(*each) for each in references))
    return _AvroSerializer(
        registry,
        made,
        subject_name=subject_name,
        auto_register=auto_register,
        use_latest=use_latest,
        normalize=normalize,
    )


def _full_name(content: Any) -> str:
    if not isinstance(content, dict):
        return content if isinstance(content, str) else ""
    name = str(content.get("name") or "")
    if not name:
        return str(content.get("type") or "")
    namespace = content.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name

"""JSON values with a JSON Schema of a registry, checked before they are written."""

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


class _JsonSchemaSerializer(SchemaSerializer):
    def __init__(self, registry: Registry, schema: Schema, **how: Any) -> None:
        super().__init__(registry, **how)
        self._schema = schema
        content = json.loads(schema.text)
        self._name = str(content.get("title") or "") if isinstance(content, dict) else ""

    def record_name(self) -> str:
        return self._name

    def own_schema(self, client: RegistryClient, subject: str) -> Schema:
        return self._schema

    def codec(self, schema: Schema, client: RegistryClient, subject: str) -> Codec:
        return codec_of(schema, client.dependencies(schema, subject))

    def plain(self, value: Any) -> Any:
        return plain(value, for_json=True)


def json_schema_serializer(
    registry: Registry,
    schema: str | Mapping[str, Any] | type,
    *,
    references: Sequence[tuple[str, str, int]] = (),
    subject_name: SubjectName = "topic",
    auto_register: bool = True,
    use_latest: bool = False,
    normalize: bool = False,
) -> SchemaSerializer:
    """Returns a serializer for JSON with a JSON Schema of a registry.

    Each value is anything that `json.dumps` takes, a dataclass or a pydantic model. Values are checked
    against the schema where `pip install 'tidelog[schemas]'` has brought jsonschema.

    Example:
        from tidelog import Producer, ProducerConfig, json_schema_serializer

        schema = {"title": "Order", "type": "object", "properties": {"number": {"type": "integer"}}}
        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        orders = json_schema_serializer("http://localhost:8081", schema)
        with Producer(config, value_serializer=orders) as producer:
            producer.send("orders", {"number": 1})

    Args:
        registry: As for `avro_serializer`.
        schema: The schema, as JSON text or as a dict; or a pydantic model, which brings its own.
        references: Registered schemas that it refers to: name, subject and version of each.
        subject_name: As for `avro_serializer`; the record's name is the schema's title.
        auto_register: Whether a schema that the subject does not have is registered. False refuses it.
        use_latest: Write with the latest schema of the subject instead of this one.
        normalize: Whether texts that differ in no meaning are one schema.
    """
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    text = schema if isinstance(schema, str) else json.dumps(schema)
    made = Schema(SchemaType.JSON, text, tuple(Reference(*each) for each in references))
    return _JsonSchemaSerializer(
        registry,
        made,
        subject_name=subject_name,
        auto_register=auto_register,
        use_latest=use_latest,
        normalize=normalize,
    )

"""The names of the records that a schema describes, by which two of the strategies call their subjects."""

import json

from tidelog.registry.parsed import SchemaError
from tidelog.registry.preparing import Source, parsed
from tidelog.registry.schema import SchemaType

NAMES_MAX = 1000


def record_names(source: Source) -> list[str]:
    """Returns the name of an Avro type, the title of a JSON schema, or all messages of a Protobuf file."""
    match source.type:
        case SchemaType.AVRO:
            return _of_avro(source)
        case SchemaType.JSON:
            return _of_json(source)
        case SchemaType.PROTOBUF:
            return _of_protobuf(source)


def _of_avro(source: Source) -> list[str]:
    from tidelog.registry.avro.parsing import AvroSchema  # with the first schema of its kind
    from tidelog.registry.avro.types import NamedType

    schema = parsed(source)
    if not isinstance(schema, AvroSchema) or not isinstance(schema.root, NamedType):
        return []
    return [schema.root.name.full]


def _of_json(source: Source) -> list[str]:
    try:
        schema = json.loads(source.text)
    except (ValueError, RecursionError):
        return []
    title = schema.get("title") if isinstance(schema, dict) else None
    return [title] if isinstance(title, str) else []


def _of_protobuf(source: Source) -> list[str]:
    from tidelog.registry.protobuf.protobuf_schema import ProtobufSchema

    schema = parsed(source)
    if not isinstance(schema, ProtobufSchema):
        raise SchemaError("The schema is none of Protobuf.")
    return schema.message_names()[:NAMES_MAX]

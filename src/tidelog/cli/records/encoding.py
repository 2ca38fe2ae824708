"""Keys and values written with schemas, for `tidelog produce`: JSON in; Avro, JSON or Protobuf out."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.cli.schema.connection import registry
from tidelog.cli.schema.files import read_schema_file
from tidelog.cli.session import Session
from tidelog.registry.schema import Schema, SchemaType

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

Encode = Callable[[Any], bytes]


class WantedSchema(NamedTuple):
    """What the options say of the schema of keys, or of values."""

    file: str | None
    subject: str | None
    message: str | None = None

    def __bool__(self) -> bool:
        return self.file is not None or self.subject is not None


def encoder_for(session: Session, url: str | None, wanted: WantedSchema, default_subject: str) -> Encode:
    """Returns a function from a JSON value to the bytes of a record, which raises ValueError."""
    subject = wanted.subject or default_subject
    with registry(session, url) as client:
        schema_id, schema = _schema(client, wanted.file, subject)
        return _encode(client, schema_id, schema, subject, wanted.message)


def _schema(client: "RegistryClient", file: str | None, subject: str) -> tuple[int, Schema]:
    """The schema of a file, registered under the subject unless it is there; or the subject's latest."""
    if file is None:
        latest = client.version(subject)
        return latest.id, latest.schema
    read = read_schema_file(file)
    schema = Schema(read.type, read.text)
    known = client.lookup(subject, schema)
    return (client.register(subject, schema) if known is None else known.id), schema


def _encode(
    client: "RegistryClient", schema_id: int, schema: Schema, subject: str, message: str | None
) -> Encode:
    from tidelog.blocking.registry.codecs import codec_of
    from tidelog.blocking.registry.errors import UnencodableValue
    from tidelog.blocking.registry.framing import prefix

    codec = codec_of(schema, client.dependencies(schema, subject), message=message)
    start = prefix(schema_id)
    ready = _as_it_is
    if schema.type is SchemaType.AVRO:
        from tidelog.cli.records.avro_input import AvroInput

        ready = AvroInput(codec.schema).value  # type: ignore[attr-defined]

    def encode(value: Any) -> bytes:
        try:
            return start + codec.encode(ready(value))
        except UnencodableValue as error:
            raise ValueError(str(error)) from error

    return encode


def json_of(data: bytes) -> Any:
    """What a line means: JSON, or plain text where it begins like no JSON at all."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        if data.lstrip()[:1] in (b"{", b"[", b'"'):
            raise
        return data.decode()


def _as_it_is(value: Any) -> Any:
    return value

"""Values with a schema's id before them, decoded in Spark's Python workers.

A worker asks the registry for each id once. A task that cannot reach it fails after the client's retries, and
with it the query: nothing of the batch is written, and the next run reads it again.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tidelog.blocking.registry.framing import ID, MAGIC_ID
from tidelog.registry.schema import Dependencies, Schema, SchemaType
from tidelog.spark.values.errors import BadValue
from tidelog.spark.values.registered.reader import ReaderSchema, client_of
from tidelog.spark.values.registered.writers import Writers

NO_HEADER = "no schema registry header: a zero byte and a schema's number"
HEADERS_MAX = 1000

Decode = Callable[[bytes], dict[str, Any]]


def registered_decoder(reader: ReaderSchema, message: str) -> Decode:
    """For values of Avro and Protobuf. It raises BadValue, and what stops a query."""
    client = client_of(reader.choice.registry)
    decoder = _decoders(reader, message)
    writers = Writers(
        reader,
        client,
        lambda schema, _: decoder(schema.text, client.dependencies(schema, reader.choice.subject)),
    )
    by_header: dict[bytes, Decode] = {}

    def decode(value: bytes) -> dict[str, Any]:
        header = value[: ID.size]
        found = by_header.get(header)
        if found is None:
            found = writers.of(schema_id(header))
            if len(by_header) < HEADERS_MAX:
                by_header[header] = found
        return found(value[ID.size :])

    return decode


def _decoders(reader: ReaderSchema, message: str) -> Callable[[str, Dependencies], Decode]:
    schema = reader.schema
    if schema.type is SchemaType.AVRO:
        from tidelog.spark.values.registered.avro import AvroReader

        return AvroReader(schema.text, reader.dependencies).decoder
    from tidelog.spark.values.registered.protobuf import ProtobufReader

    return ProtobufReader(schema.text, reader.dependencies, message).decoder


def schema_id(header: bytes) -> int:
    if len(header) < ID.size or header[0] != MAGIC_ID:
        raise BadValue(NO_HEADER)
    return int(ID.unpack(header)[1])


class JsonHeaders:
    """Judges the headers of JSON values, whose documents Spark's own parser reads."""

    def __init__(self, reader: ReaderSchema) -> None:
        from tidelog.spark.values.registered.json_columns import refuse_other_columns

        client = client_of(reader.choice.registry)

        def resolve(schema: Schema, _: int) -> bool:
            refuse_other_columns(
                (reader.schema.text, reader.dependencies),
                (schema.text, client.dependencies(schema, reader.choice.subject)),
            )
            return True

        self._writers: Writers[bool] = Writers(reader, client, resolve)

    def reasons(self, headers: pa.Array) -> pa.Array:
        """Null where the document can be read."""
        found = headers.dictionary_encode()
        known = pa.array([self._reason(header) for header in found.dictionary.to_pylist()], pa.string())
        return known.take(found.indices)

    def _reason(self, header: bytes) -> str | None:
        try:
            self._writers.of(schema_id(header))
        except BadValue as error:
            return str(error)
        return None

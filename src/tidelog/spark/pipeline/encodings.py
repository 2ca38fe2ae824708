"""How the values of a sink are written: by a file's schema, or by one that a registry has or is given."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.blocking.registry.framing import prefix
from tidelog.registry.schema import Schema, SchemaType
from tidelog.spark.pipeline.registries import chosen_subject, written_out
from tidelog.spark.pipeline.spec import Sink
from tidelog.spark.values.registered.reader import SubjectChoice, fetch_reader
from tidelog.spark.values.value_decoding import Decoding, Framing, Kind, load_decoding
from tidelog.spark.values.value_encoding import Encoding

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def load_schema(sink: Sink, directory: Path) -> Decoding:
    """BadSchema says what is missing or wrong with the file."""
    framing = sink.framing if sink.registry is None else Framing.CONFLUENT
    return load_decoding(
        sink.encode or "", schema=sink.schema, message=sink.message, framing=framing, directory=directory
    )


def encoding_of(frame: "DataFrame", sink: Sink, directory: Path, *, may_register: bool) -> Encoding:
    """Of Avro and Protobuf. BadSchema says what is missing or wrong."""
    if sink.registry is None:
        return Encoding(load_schema(sink, directory), sink.schema_id)
    choice = chosen_subject(sink.registry, sink.topic, directory)
    if not written_out(sink.registry).register:
        return _of_registry(choice, sink)
    if sink.schema is None:
        schema = derived_schema(frame, sink)
        decoding = Decoding(Kind.AVRO, schema.text, framing=Framing.CONFLUENT)
    else:
        decoding = load_schema(sink, directory)
        schema = _of_file(decoding)
    return Encoding(decoding, _id(choice, schema, may_register=may_register))


def json_value(frame: "DataFrame", sink: Sink, directory: Path, *, may_register: bool) -> "Column":
    """The whole row as JSON, behind the id of its schema."""
    from pyspark.sql.functions import col, concat, lit, struct, to_json

    choice = chosen_subject(sink.registry or "", sink.topic, directory)
    if written_out(sink.registry or "").register:
        schema_id = _id(choice, derived_schema(frame, sink), may_register=may_register)
    else:
        schema_id = fetch_reader(choice, Kind.JSON).id
    document = to_json(struct(*(col(f"`{name}`") for name in frame.columns)))
    return concat(lit(prefix(schema_id)), document.cast("binary"))


def derived_schema(frame: "DataFrame", sink: Sink) -> Schema:
    """The schema of the columns. Avro leaves out those that begin with `_`, which are about a record."""
    from pyspark.sql.types import StructType

    from tidelog.spark.values.registered.derived import avro_schema_of, json_schema_of

    name = sink.topic or sink.from_
    if sink.encode == "json":
        return json_schema_of(frame.schema, name)
    kept: StructType = StructType([field for field in frame.schema.fields if not field.name.startswith("_")])
    return avro_schema_of(kept, name)


def _of_registry(choice: SubjectChoice, sink: Sink) -> Encoding:
    reader = fetch_reader(choice, sink.encode or "")
    decoding = Decoding(
        Kind(sink.encode or ""),
        reader.schema.text,
        message=sink.message or "",
        framing=Framing.CONFLUENT,
        dependencies=reader.dependencies,
    )
    return Encoding(decoding, reader.id)


def _of_file(decoding: Decoding) -> Schema:
    if decoding.kind is Kind.AVRO:
        return Schema(SchemaType.AVRO, decoding.schema)
    from tidelog.spark.values.registered.registering import protobuf_schema_of

    return protobuf_schema_of(decoding.descriptors, decoding.message)


def _id(choice: SubjectChoice, schema: Schema, *, may_register: bool) -> int:
    """0 in a plan that only checks: nothing is written with it."""
    from tidelog.spark.values.registered.registering import registered_id

    return registered_id(choice, schema, may_register=may_register) or 0

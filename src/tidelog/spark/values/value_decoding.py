"""Record values as columns: raw, text, JSON, Avro or Protobuf.

`with_decoded` adds the struct and, where a value does not decode, the reason; `screening.py` says what
becomes of those records.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.registry.schema import Dependency
from tidelog.spark.values.ddl import check_ddl
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.json_sample import schema_of_samples
from tidelog.spark.values.registered.reader import ReaderSchema, SubjectChoice, fetch_reader

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

DECODED, REASON = "_decoded", "_reason"
CORRUPT, HEADER_REASON = "_corrupt", "_header_reason"
NOT_JSON = "not JSON of the schema"
HEADER_BYTES = 5
"""A zero byte and a schema's id."""
JSON_BYTES_MAX = 2**31 - 1


class Kind(StrEnum):
    RAW = "raw"
    STRING = "string"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"


class Framing(StrEnum):
    NONE = "none"
    CONFLUENT = "confluent"
    """A zero byte and a schema's number first, as clients of a schema registry write."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """Everything a worker needs, with no file to look for."""

    kind: Kind
    schema: str = ""
    """The DDL of JSON, the schema of Avro."""
    descriptors: bytes = b""
    message: str = ""
    framing: Framing = Framing.NONE
    dependencies: tuple[Dependency, ...] = ()
    """What the schema of Avro refers to."""
    reader: ReaderSchema | None = None
    """Where each record names its schema: the schema of a registry that it is read as."""

    @property
    def has_fields(self) -> bool:
        return self.kind not in (Kind.RAW, Kind.STRING)


def load_decoding(
    kind: str,
    *,
    schema: str | None = None,
    sample: str | None = None,
    message: str | None = None,
    framing: str = "none",
    directory: Path = Path(),
) -> Decoding:
    """Reads the files that are named, relative to `directory`. BadSchema says what is missing or wrong."""
    match Kind(kind):
        case Kind.RAW | Kind.STRING as plain:
            return Decoding(plain)
        case Kind.JSON:
            if (schema is None) == (sample is None):
                raise BadSchema("JSON needs a schema (such as 'id STRING, amount DOUBLE') or a sample file")
            if schema is not None:
                check_ddl(schema)
            ddl = schema if schema is not None else schema_of_samples(_text(directory, sample or ""))
            return Decoding(Kind.JSON, ddl)
        case Kind.AVRO:
            if schema is None:
                raise BadSchema("Avro needs a schema: the path of an .avsc file")
            text = schema if schema.lstrip().startswith("{") else _text(directory, schema)
            return Decoding(Kind.AVRO, text, framing=Framing(framing))
        case _:
            if schema is None or message is None:
                raise BadSchema(
                    "Protobuf needs a schema (the path of a descriptor set) and the message's name"
                )
            descriptors = _bytes(directory, schema)
            return Decoding(Kind.PROTOBUF, descriptors=descriptors, message=message, framing=Framing(framing))


def registered_decoding(kind: str | None, choice: SubjectChoice, message: str | None = None) -> Decoding:
    """By the registry, which is asked now. BadSchema says what it has against it."""
    reader = fetch_reader(choice, kind)
    schema = reader.schema.text
    if reader.kind == Kind.JSON:
        from tidelog.spark.values.registered.json_columns import ddl_of

        schema = ddl_of(schema, reader.dependencies)
    return Decoding(
        Kind(reader.kind),
        schema,
        message=message or "",
        framing=Framing.CONFLUENT,
        dependencies=reader.dependencies,
        reader=reader,
    )


def with_decoded(frame: "DataFrame", decoding: Decoding) -> "DataFrame":
    """All columns of the source, the struct `_decoded` and the text `_reason`, of which one is null."""
    if decoding.kind is Kind.JSON:
        return _with_json(frame, decoding)
    from tidelog.spark.values.udf import decode_udf

    both = decode_udf(decoding)("value")
    return (
        frame.withColumn("_both", both)
        .select("*", "_both.decoded", "_both.reason")
        .withColumnsRenamed({"decoded": DECODED, "reason": REASON})
        .drop("_both")
    )


def _with_json(frame: "DataFrame", decoding: Decoding) -> "DataFrame":
    """By Spark's own parser, in the JVM. A field that is NOT NULL in the schema has to be there."""
    from pyspark.sql.functions import array, coalesce, col, explode, from_json, lit, when
    from pyspark.sql.types import StringType, StructType

    schema = parsed_ddl(decoding.schema)
    wanted = StructType([*schema.fields]).add(CORRUPT, StringType())
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    struct = from_json(document(decoding).cast("string"), wanted, options)
    # One row from one row: a barrier to the optimizer, which would else parse again wherever it is used.
    parsed = _with_header_reason(frame, decoding).withColumn(DECODED, explode(array(struct)))
    whole = col(DECODED)
    missing: list[Column] = [
        when(whole[field.name].isNull(), lit(f"field {field.name} is missing or null"))
        for field in schema.fields
        if not field.nullable
    ]
    reason = (
        when(col("value").isNull(), lit("there is no value"))
        .when(col(HEADER_REASON).isNotNull(), col(HEADER_REASON))
        .when(whole.isNull() | whole[CORRUPT].isNotNull(), lit(NOT_JSON))
        .otherwise(coalesce(*missing, lit(None).cast("string")))
    )
    judged = parsed.withColumn(REASON, reason).withColumn(DECODED, whole.dropFields(CORRUPT))
    return judged.drop(HEADER_REASON)


def document(decoding: Decoding, value: str = "value") -> "Column":
    """The JSON of a value, without the header that may be before it."""
    from pyspark.sql.functions import col, substring

    return col(value) if decoding.reader is None else substring(col(value), 1 + HEADER_BYTES, JSON_BYTES_MAX)


def _with_header_reason(frame: "DataFrame", decoding: Decoding) -> "DataFrame":
    """What is wrong with the header: null where nothing is, or where none is expected."""
    from pyspark.sql.functions import col, lit, substring

    if decoding.reader is None:
        return frame.withColumn(HEADER_REASON, lit(None).cast("string"))
    from tidelog.spark.values.udf import header_udf

    return frame.withColumn(
        HEADER_REASON, header_udf(decoding.reader)(substring(col("value"), 1, HEADER_BYTES))
    )


def parsed_ddl(ddl: str) -> "StructType":
    """By Spark, so a session must be there."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        parsed = StructType.fromDDL(ddl)
    except PySparkException as error:
        said = str(error).strip().splitlines()[0]
        raise BadSchema(f"the schema is no DDL such as 'id STRING, amount DOUBLE': {said}") from error
    if not isinstance(parsed, StructType):
        raise BadSchema(f"the schema is one type, {parsed.simpleString()}, and not fields with names")
    return parsed


def _text(directory: Path, name: str) -> str:
    try:
        return _bytes(directory, name).decode()
    except UnicodeDecodeError as error:
        raise BadSchema(f"{directory / name} is not text") from error


def _bytes(directory: Path, name: str) -> bytes:
    try:
        return (directory / name).read_bytes()
    except OSError as error:
        raise BadSchema(f"cannot read {directory / name}: {error.strerror}") from error

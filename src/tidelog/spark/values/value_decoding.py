"""Record values as columns: raw, text, JSON, Avro or Protobuf.

`with_decoded` adds the struct and, where a value does not decode, the reason; `screening.py` says what
becomes of those records.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.spark.values.ddl import check_ddl
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.json_sample import schema_of_samples

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

DECODED, REASON = "_decoded", "_reason"
CORRUPT = "_corrupt"


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
    struct = from_json(col("value").cast("string"), wanted, options)
    # One row from one row: a barrier to the optimizer, which would else parse again wherever it is used.
    parsed = frame.withColumn(DECODED, explode(array(struct)))
    whole = col(DECODED)
    missing: list[Column] = [
        when(whole[field.name].isNull(), lit(f"field {field.name} is missing or null"))
        for field in schema.fields
        if not field.nullable
    ]
    reason = (
        when(col("value").isNull(), lit("there is no value"))
        .when(whole.isNull() | whole[CORRUPT].isNotNull(), lit("not JSON of the schema"))
        .otherwise(coalesce(*missing, lit(None).cast("string")))
    )
    return parsed.withColumn(REASON, reason).withColumn(DECODED, whole.dropFields(CORRUPT))


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

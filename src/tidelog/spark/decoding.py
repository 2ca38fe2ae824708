"""Record values as columns: raw, text, JSON, Avro or Protobuf; and what becomes of those that don't decode.

`with_decoded` adds the struct and, where a value does not decode, the reason. `decoded` gives the fields as
columns, beside `_key`, `_topic`, `_partition`, `_offset`, `_timestamp`; `undecoded` gives the other records
as they came, with the reason.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.spark.ddl import check_ddl
from tidelog.spark.decoding_errors import BadSchema
from tidelog.spark.json_sample import schema_of_samples

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

DECODED, REASON = "_decoded", "_reason"
CORRUPT = "_corrupt"
ABOUT = ("key", "topic", "partition", "offset", "timestamp", "headers")
EXCERPT = 200


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


class OnError(StrEnum):
    FAIL = "fail"
    DROP = "drop"
    DEAD_LETTER = "dead-letter"


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
    folder: Path = Path(),
) -> Decoding:
    """Reads the files that are named, relative to `folder`. BadSchema says what is missing or wrong."""
    match Kind(kind):
        case Kind.RAW | Kind.STRING as plain:
            return Decoding(plain)
        case Kind.JSON:
            if (schema is None) == (sample is None):
                raise BadSchema("JSON needs a schema (such as 'id STRING, amount DOUBLE') or a sample file")
            if schema is not None:
                check_ddl(schema)
            ddl = schema if schema is not None else schema_of_samples(_text(folder, sample or ""))
            return Decoding(Kind.JSON, ddl)
        case Kind.AVRO:
            if schema is None:
                raise BadSchema("Avro needs a schema: the path of an .avsc file")
            text = schema if schema.lstrip().startswith("{") else _text(folder, schema)
            return Decoding(Kind.AVRO, text, framing=Framing(framing))
        case _:
            if schema is None or message is None:
                raise BadSchema(
                    "Protobuf needs a schema (the path of a descriptor set) and the message's name"
                )
            descriptors = _bytes(folder, schema)
            return Decoding(Kind.PROTOBUF, descriptors=descriptors, message=message, framing=Framing(framing))


def with_decoded(frame: "DataFrame", decoding: Decoding) -> "DataFrame":
    """All columns of the source, the struct `_decoded` and the text `_reason`, of which one is null."""
    if decoding.kind is Kind.JSON:
        return _with_json(frame, decoding)
    from tidelog.spark.value_udf import decode_udf

    both = decode_udf(decoding)("value")
    return (
        frame.withColumn("_both", both)
        .select("*", "_both.decoded", "_both.reason")
        .withColumnsRenamed({"decoded": DECODED, "reason": REASON})
        .drop("_both")
    )


def decoded(frame: "DataFrame", decoding: Decoding, on_error: OnError = OnError.FAIL) -> "DataFrame":
    """The source's records as a pipeline wants to see them."""
    from pyspark.sql.functions import col

    if decoding.kind is Kind.RAW:
        return frame
    if decoding.kind is Kind.STRING:
        return frame.withColumns({name: col(name).cast("string") for name in ("key", "value")})
    both = with_decoded(frame, decoding)
    good = col(REASON).isNull()
    kept = both.where(good | failing() if on_error is OnError.FAIL else good)
    about = [name for name in ABOUT if name in frame.columns]
    fields = kept.select(f"{DECODED}.*").columns
    taken = {f"_{name}" for name in about}.intersection(fields)
    if taken:
        raise BadSchema(f"the schema has a field {taken.pop()}, which is a column about the record")
    keys = [col(name).cast("string") if name == "key" else col(name) for name in about]
    return kept.select(
        f"{DECODED}.*", *(key.alias(f"_{name}") for key, name in zip(keys, about, strict=True))
    )


def undecoded(frame: "DataFrame", decoding: Decoding) -> "DataFrame":
    """Only the records that don't decode: the columns of the source, and `_reason`."""
    from pyspark.sql.functions import col

    bad = with_decoded(frame, decoding).where(col(REASON).isNotNull())
    if decoding.kind is Kind.JSON:
        from tidelog.spark.value_udf import explain_udf

        fields = bad.select(f"{DECODED}.*").columns
        bad = bad.withColumn(REASON, explain_udf(fields)("value", DECODED, REASON))
    return bad.drop(DECODED)


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


def failing() -> "Column":
    """Always true or an error; an error of a filter, because an unused column would never be looked at."""
    from pyspark.sql.functions import (
        coalesce,
        col,
        concat,
        format_string,
        left,
        lit,
        make_valid_utf8,
        raise_error,
    )

    where = format_string("%s[%d] offset %d: ", col("topic"), col("partition"), col("offset"))
    # Of what is null or no text, an error that is not about this record would come instead.
    excerpt = left(make_valid_utf8(col("value").cast("string")), lit(EXCERPT))
    said = concat(lit("cannot decode "), where, col(REASON), coalesce(concat(lit(": "), excerpt), lit("")))
    return raise_error(said).cast("boolean")


def _text(folder: Path, name: str) -> str:
    try:
        return _bytes(folder, name).decode()
    except UnicodeDecodeError as error:
        raise BadSchema(f"{folder / name} is not text") from error


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise BadSchema(f"cannot read {folder / name}: {error.strerror}") from error

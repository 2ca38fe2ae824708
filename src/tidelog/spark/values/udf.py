"""Decoding and encoding in Spark's Python workers, an Arrow batch at a time.

Only a query that needs it imports this.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import BinaryType, DataType, StringType, StructType
from pyspark.sql.udf import UserDefinedFunction

from tidelog.spark.values.errors import BadValue
from tidelog.spark.values.formats import values_of
from tidelog.spark.values.value_decoding import Decoding, Framing, Kind
from tidelog.spark.values.value_encoding import Encoding

if TYPE_CHECKING:
    from tidelog.spark.values.registered.decoding import JsonHeaders
    from tidelog.spark.values.registered.reader import ReaderSchema

_udf = cast(Callable[..., UserDefinedFunction], arrow_udf)  # its stub demands what it infers from the hints

CONFLUENT_HEADER = 5
SHOWN = 60


_values_of = lru_cache(maxsize=16)(values_of)  # a worker meets the same schema at every batch


def decode_udf(decoding: Decoding) -> UserDefinedFunction:
    """value -> struct<decoded, reason>."""
    inner = from_arrow_type(values_of(decoding).type)
    result = StructType().add("decoded", inner).add("reason", StringType())

    def decode(values: pa.Array) -> pa.Array:
        return decode_array(values, decoding)

    # "Not deterministic", or a filter by the reason would decode every value a second time.
    return _udf(decode, result).asNondeterministic()


def decode_array(values: pa.Array, decoding: Decoding) -> pa.Array:
    """What one Arrow batch of values holds: struct<decoded, reason>."""
    kind, decode = _decoder(decoding)
    rows: list[dict[str, Any] | None] = []
    reasons: list[str | None] = []
    for value in values.to_pylist():
        try:
            if value is None:
                raise BadValue("there is no value")
            rows.append(decode(value))
            reasons.append(None)
        except BadValue as error:
            rows.append(None)
            reasons.append(str(error))
    fields = [pa.field("decoded", kind), pa.field("reason", pa.string())]
    return pa.StructArray.from_arrays(
        [_array(rows, reasons, kind), pa.array(reasons, pa.string())], fields=fields
    )


@lru_cache(maxsize=16)
def _decoder(decoding: Decoding) -> tuple[pa.DataType, Callable[[bytes], dict[str, Any]]]:
    """The fields, and what makes them of a value. It raises BadValue."""
    codec = _values_of(decoding)
    if decoding.reader is not None:
        from tidelog.spark.values.registered.decoding import registered_decoder

        return codec.type, registered_decoder(decoding.reader, decoding.message)
    decode, unframe = codec.decode, _UNFRAME[decoding.kind, decoding.framing]
    if unframe is _as_it_is:
        return codec.type, decode
    return codec.type, lambda value: decode(unframe(value))


def _array(rows: list[dict[str, Any] | None], reasons: list[str | None], kind: pa.DataType) -> pa.Array:
    """Row by row where one does not fit: a date out of Arrow's range, say, must not take the others along."""
    try:
        return pa.array(rows, kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        for number, row in enumerate(rows):
            try:
                pa.array([row], kind)
            except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
                rows[number], reasons[number] = None, f"a value does not fit its column: {error}"
        return pa.array(rows, kind)


def field_types(decoding: Decoding) -> dict[str, DataType]:
    """The fields of the schema, in Spark's types."""
    return {field.name: from_arrow_type(field.type) for field in values_of(decoding).type}


def encode_udf(encoding: Encoding) -> UserDefinedFunction:
    """struct of fields -> the value's bytes."""

    def encode(rows: pa.Array) -> pa.Array:
        return encode_array(rows, encoding)

    return _udf(encode, BinaryType())


def encode_array(rows: pa.Array, encoding: Encoding) -> pa.Array:
    """The values of one Arrow batch of rows. BadValue at a row that does not fit the schema."""
    codec = _values_of(encoding.schema)
    header = encoding.header(codec.path)
    return pa.array([header + codec.encode(row) for row in rows.to_pylist()], pa.binary())


def header_udf(reader: "ReaderSchema") -> UserDefinedFunction:
    """The header of a value -> what is wrong with it, or null."""

    def judge(headers: pa.Array) -> pa.Array:
        return _json_headers(reader).reasons(headers)

    # "Not deterministic", or each use of the reason would judge every value again.
    return _udf(judge, StringType()).asNondeterministic()


@lru_cache(maxsize=16)
def _json_headers(reader: "ReaderSchema") -> "JsonHeaders":
    from tidelog.spark.values.registered.decoding import JsonHeaders

    return JsonHeaders(reader)


def explain_udf(fields: list[str]) -> UserDefinedFunction:
    """(value, parsed struct, short reason) -> a reason that names the place. Only bad records get here."""

    def explain(values: pa.Array, parsed: pa.Array, reasons: pa.Array) -> pa.Array:
        rows = zip(values.to_pylist(), parsed.to_pylist(), reasons.to_pylist(), strict=True)
        return pa.array([_explained(value, row, reason, fields) for value, row, reason in rows], pa.string())

    return _udf(explain, StringType())


def _explained(value: bytes | None, row: dict[str, Any] | None, reason: str, fields: list[str]) -> str:
    if value is None:
        return reason
    try:
        document = json.loads(value)
    except ValueError as error:
        return f"not JSON: {error}"
    if not isinstance(document, dict):
        return f"not a JSON object but {_shown(document)}"
    for field in fields:
        if document.get(field) is not None and (row or {}).get(field) is None:
            return f"field {field} is not of the schema's type: {_shown(document[field])}"
    return reason


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _as_it_is(value: bytes) -> bytes:
    return value


def _after_header(value: bytes) -> bytes:
    if len(value) < CONFLUENT_HEADER or value[0] != 0:
        raise BadValue("no schema registry header: a zero byte and a schema's number")
    return value[CONFLUENT_HEADER:]


def _after_message_path(value: bytes) -> bytes:
    """Protobuf says after the header which message of the file it is: a count, then numbers, as varints."""
    rest = _after_header(value)
    count, position = _zigzag(rest, 0)
    for _ in range(count):
        _, position = _zigzag(rest, position)
    return rest[position:]


def _zigzag(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(data) and shift < 35:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
    raise BadValue("the schema registry header is cut short")


_UNFRAME: dict[tuple[Kind, Framing], Callable[[bytes], bytes]] = {
    (Kind.AVRO, Framing.NONE): _as_it_is,
    (Kind.AVRO, Framing.CONFLUENT): _after_header,
    (Kind.PROTOBUF, Framing.NONE): _as_it_is,
    (Kind.PROTOBUF, Framing.CONFLUENT): _after_message_path,
}

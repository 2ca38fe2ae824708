"""Rows as values of Avro or Protobuf: which columns go into which fields, and the bytes around them."""

import struct
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.formats import values_of
from tidelog.spark.values.value_decoding import Decoding, Framing, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import Column

SCHEMA_ID_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Encoding:
    schema: Decoding
    """The same that reads such values."""
    schema_id: int | None = None
    """What a schema registry calls it, where clients of one read."""

    def header(self, path: "Sequence[int]") -> bytes:
        """What stands before each value: nothing, or a zero byte, the schema's number, and of Protobuf which
        message of the file it is."""
        if self.schema.framing is not Framing.CONFLUENT:
            return b""
        start = struct.pack(">bI", 0, self.schema_id or 0)
        if self.schema.kind is not Kind.PROTOBUF:
            return start
        if list(path) == [0]:
            return start + b"\0"  # the usual case has a short form
        return start + b"".join(_zigzag(number) for number in (len(path), *path))


def fields_of(encoding: Encoding, columns: "Sequence[str]", unused: "Collection[str]" = ()) -> list[str]:
    """The fields that columns fill. BadSchema where a field has to be filled and no column has its name, or a
    column has no field; `unused` are columns that are there for another reason."""
    values = values_of(encoding.schema)
    fields = [field.name for field in values.type]
    missing = [name for name in values.required if name not in columns]
    if missing:
        raise BadSchema(
            f"the schema's field '{missing[0]}' has to be there, and no column is called so"
            + _nearest(missing[0], columns)
        )
    strange = [
        name for name in columns if name not in fields and name not in unused and not name.startswith("_")
    ]
    if strange:
        raise BadSchema(
            f"the schema has no field for the column '{strange[0]}'{_nearest(strange[0], fields)};"
            " a step can leave the column out"
        )
    found = [name for name in fields if name in columns]
    if not found:
        raise BadSchema(f"no column is a field of the schema, whose fields are {', '.join(fields)}")
    return found


def encoded(encoding: Encoding, fields: "Sequence[str]") -> "Column":
    """The columns of those names as one value."""
    from pyspark.sql.functions import col
    from pyspark.sql.functions import struct as struct_of

    from tidelog.spark.values.udf import encode_udf, field_types

    kinds = field_types(encoding.schema)
    row = struct_of(*(col(f"`{name}`").cast(kinds[name]).alias(name) for name in fields))
    return encode_udf(encoding)(row)


def _zigzag(number: int) -> bytes:
    left, made = number << 1, bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _nearest(name: str, known: "Sequence[str]") -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else ""

"""Avro values by fastavro. Logical types become Python's own: datetime, date, Decimal, UUID.

Confluent's serializers write a value of the schema "bytes" as it is, without Avro's length before it.
"""

import io
import json
from typing import Any

import fastavro

from tidelog.blocking.registry.errors import UndecodableRecord, UnencodableValue
from tidelog.blocking.registry.framing import Framed
from tidelog.registry.parsed import SchemaError, parse
from tidelog.registry.schema import Dependencies, SchemaType


class AvroCodec:
    def __init__(self, text: str, dependencies: Dependencies = ()) -> None:
        self.schema = avro_schema(text, dependencies)
        self._is_bytes = self.schema in ("bytes", {"type": "bytes"})

    def decode(self, found: Framed) -> Any:
        if self._is_bytes:
            return found.data
        stream = io.BytesIO(found.data)
        try:
            value = fastavro.schemaless_reader(stream, self.schema, None)
        except Exception as error:  # fastavro lets many kinds through: EOFError, IndexError, UnicodeError, …
            raise UndecodableRecord(f"not Avro of its schema: {error or type(error).__name__}") from error
        if left := len(found.data) - stream.tell():
            raise UndecodableRecord(f"not Avro of its schema: {left} bytes are left over")
        return value

    def encode(self, value: Any) -> bytes:
        if self._is_bytes and isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, self.schema, value)
        except Exception as error:  # ValueError, TypeError, OverflowError, KeyError, …
            raise UnencodableValue(
                f"the value does not fit the Avro schema: {error or type(error).__name__}"
            ) from error
        return stream.getvalue()


def avro_schema(text: str, dependencies: Dependencies = ()) -> Any:
    """The schema as fastavro takes it, with what it refers to inside. Raises SchemaError."""
    whole = parse(SchemaType.AVRO, text, dependencies).formatted("resolved") if dependencies else text
    try:
        return fastavro.parse_schema(json.loads(whole))
    except RecursionError:
        raise SchemaError("The Avro schema is nested too deeply.") from None
    except Exception as error:  # KeyError, ValueError, TypeError and fastavro's own
        raise SchemaError(f"The Avro schema is not valid: {error or type(error).__name__}.") from error

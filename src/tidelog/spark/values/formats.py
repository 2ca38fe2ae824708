"""How Avro and Protobuf values are read and written, with what both have in common."""

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from tidelog.spark.values.value_decoding import Decoding, Kind


class Values(Protocol):
    type: pa.DataType
    """The fields, as a struct."""

    def decode(self, value: bytes) -> dict[str, Any]: ...

    def encode(self, row: Mapping[str, Any]) -> bytes:
        """BadValue where the row does not fit the schema."""

    @property
    def required(self) -> list[str]:
        """The fields that a row must have."""

    @property
    def path(self) -> list[int]:
        """Which message of the schema's file it is; none where a schema is one record."""


def values_of(decoding: Decoding) -> Values:
    """BadSchema where the schema says what Spark has no type for."""
    if decoding.kind is Kind.AVRO:
        from tidelog.spark.values.avro import AvroValues

        return AvroValues(decoding.schema)
    from tidelog.spark.values.protobuf import ProtobufValues

    return ProtobufValues(decoding.descriptors, decoding.message)

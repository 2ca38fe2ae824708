"""How Avro and Protobuf values are read and written, with what both have in common."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pyarrow as pa

from tidelog.spark.values.value_decoding import Decoding, Kind


class Values(Protocol):
    type: pa.DataType
    """The fields, as a struct."""

    @property
    def decode(self) -> Callable[[bytes], dict[str, Any]]:
        """BadValue where the bytes are not of the schema."""

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

        return AvroValues(decoding.schema, decoding.dependencies)
    from tidelog.spark.values.protobuf import of_descriptor_set, of_text

    if decoding.descriptors:
        return of_descriptor_set(decoding.descriptors, decoding.message)
    return of_text(decoding.schema, decoding.dependencies, decoding.message)

"""The columns a DataFrame may be written with: those of Spark's own Kafka sink; others are ignored."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.base.errors import TidelogError

TEXT_OR_BYTES = ("string", "binary")
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "key": TEXT_OR_BYTES,
    "value": TEXT_OR_BYTES,
    "topic": ("string",),
    "headers": ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
}


class SchemaError(TidelogError):
    """A DataFrame that cannot be written as records."""


@dataclass(frozen=True)
class Shape:
    """What the writer needs to know of the rows."""

    topic: str | None
    """For all rows; None: each row names its own."""
    has_key: bool
    has_headers: bool
    has_partition: bool


def shape_of(columns: Mapping[str, str], topic: str | None, *, with_headers: bool = True) -> Shape:
    """`columns`: the types by name, in Spark's short form. A given `topic` wins over the column."""
    if "value" not in columns:
        found = ", ".join(columns) or "none"
        raise SchemaError(
            f"there is no column value among those to write ({found}); name one: "
            'selectExpr("to_json(struct(*)) AS value")'
        )
    for name, allowed in ALLOWED.items():
        kind = columns.get(name)
        if kind is not None and kind not in allowed and kind != "void":
            raise SchemaError(f"column {name} is of type {kind}, and must be {' or '.join(allowed)}")
    if topic is None and "topic" not in columns:
        raise SchemaError("no topic to write to: set the option topic, or add a column topic")
    filled = [name for name, kind in columns.items() if kind != "void"]  # of NULL AS partition, say
    return Shape(
        topic,
        has_key="key" in filled,
        has_headers=with_headers and "headers" in filled,
        has_partition="partition" in filled,
    )

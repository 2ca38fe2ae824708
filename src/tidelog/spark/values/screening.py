"""Which records of a source go on to the steps, and what becomes of the others.

A record is bad if its value does not decode, or if a rule is not true of it. Every record is either good or
bad, and for the same reason whenever it is looked at: the query that writes dead letters looks for itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.value_decoding import (
    DECODED,
    NOT_JSON,
    REASON,
    Decoding,
    Kind,
    document,
    with_decoded,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ABOUT = ("key", "topic", "partition", "offset", "timestamp", "headers")
DELETED = "_deleted"
EXCERPT = 200
# Beside the fields of a schema, which may have nearly any name.
RECORD, PARSED, UNDECODED, VERDICT = "__record", "__parsed", "__undecoded", "__verdict"


class OnError(StrEnum):
    FAIL = "fail"
    DROP = "drop"
    DEAD_LETTER = "dead-letter"


class Tombstones(StrEnum):
    """Records without a value, by which a compacted topic says that a key is gone."""

    ERROR = "error"
    DROP = "drop"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Screen:
    on_error: OnError = OnError.FAIL
    rules: Mapping[str, str] = field(default_factory=dict)
    """Conditions in SQL by name; each has to be true."""
    tombstones: Tombstones = Tombstones.ERROR


def decoded(frame: "DataFrame", decoding: Decoding, screen: Screen | None = None) -> "DataFrame":
    """The good records as steps see them."""
    from pyspark.sql.functions import col

    screen = screen or Screen()
    if decoding.kind is Kind.RAW and not screen.rules:
        return frame
    judged, columns = _judged(frame, decoding, screen)
    good = col(VERDICT).isNull()
    if not decoding.has_fields and not screen.rules:
        kept = judged
    elif screen.on_error is OnError.FAIL:
        kept = judged.where(good | failing(VERDICT, RECORD))
    else:
        kept = judged.where(good)
    return kept.select(*(f"`{name}`" for name in columns))


def undecoded(frame: "DataFrame", decoding: Decoding, screen: Screen | None = None) -> "DataFrame":
    """The bad ones: the columns of the source, and `_reason`."""
    from pyspark.sql.functions import coalesce, col, when

    judged, _ = _judged(frame, decoding, screen or Screen())
    bad = judged.where(col(VERDICT).isNotNull())
    reason = col(VERDICT)
    if decoding.kind is Kind.JSON:
        from tidelog.spark.values.udf import explain_udf

        fields = bad.select(f"{PARSED}.*").columns
        said = explain_udf(fields)(document(decoding, f"{RECORD}.value"), PARSED, UNDECODED)
        reason = coalesce(when(col(UNDECODED) == NOT_JSON, said), reason)
    return bad.select(f"{RECORD}.*", reason.alias(REASON))


def _judged(frame: "DataFrame", decoding: Decoding, screen: Screen) -> tuple["DataFrame", list[str]]:
    """The columns that steps see, by name, beside the record as it came and what is wrong with it."""
    from pyspark.sql.functions import col, lit, struct

    source = list(frame.columns)
    record = struct(*(col(name) for name in source)).alias(RECORD)
    nothing = lit(None).cast("string")
    if not decoding.has_fields:
        is_text = decoding.kind is Kind.STRING
        shown = [
            col(name).cast("string").alias(name) if is_text and name in ("key", "value") else col(name)
            for name in source
        ]
        judged = frame.select(*shown, record)
        return judged.withColumn(VERDICT, broken_rule(screen.rules, nothing)), source
    if screen.tombstones is Tombstones.DROP:
        frame = frame.where(col("value").isNotNull())
    both = with_decoded(frame, decoding)
    fields = both.select(f"{DECODED}.*").columns
    about = {f"_{name}": name for name in ABOUT if name in source}
    made = [col(name).cast("string").alias(shown) if name == "key" else col(name).alias(shown)
            for shown, name in about.items()]  # fmt: skip
    columns = [*fields, *about]
    is_tombstone = col("value").isNull()
    if screen.tombstones is Tombstones.KEEP:
        made.append(is_tombstone.alias(DELETED))
        columns.append(DELETED)
    taken = set(columns[len(fields) :]).intersection(fields)
    if taken:
        raise BadSchema(f"the schema has a field {taken.pop()}, which is a column about the record")
    judged = both.select(
        f"{DECODED}.*", *made, record, col(DECODED).alias(PARSED), col(REASON).alias(UNDECODED)
    )
    verdict = broken_rule(screen.rules, col(UNDECODED))
    if screen.tombstones is Tombstones.KEEP:
        from pyspark.sql.functions import when

        verdict = when(~col(DELETED), verdict)
    return judged.withColumn(VERDICT, verdict), columns


def broken_rule(rules: Mapping[str, str], otherwise: "Column") -> "Column":
    """What is wrong already, else the first rule that is not true. Null is not true."""
    from pyspark.sql.functions import coalesce, expr, lit, when

    broken = [
        when(~coalesce(expr(sql), lit(False)), lit(f"the rule '{name}' is not met: {sql}"))
        for name, sql in rules.items()
    ]
    return coalesce(otherwise, *broken) if broken else otherwise


def failing(reason: str = REASON, record: str | None = None) -> "Column":
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

    of = "" if record is None else f"{record}."
    where = format_string("%s[%d] offset %d: ", col(f"{of}topic"), col(f"{of}partition"), col(f"{of}offset"))
    # Of what is null or no text, an error that is not about this record would come instead.
    excerpt = left(make_valid_utf8(col(f"{of}value").cast("string")), lit(EXCERPT))
    said = concat(lit("cannot take "), where, col(reason), coalesce(concat(lit(": "), excerpt), lit("")))
    return raise_error(said).cast("boolean")

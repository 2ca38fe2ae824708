"""A topic as a table: the frame that goes into it, and the queries that keep it filled.

The columns are those of the records, then the decoded fields where there is a schema, then what partitions
need. A record without a value (a tombstone) is a row like any other; its decoded columns are null.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.spark.errors import OptionError
from tidelog.spark.lake.options import parse_options
from tidelog.spark.pipeline.build import Build
from tidelog.spark.pipeline.moments import start_options
from tidelog.spark.pipeline.sources import dead_letters
from tidelog.spark.pipeline.spec import Sink, Source
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.screening import failing
from tidelog.spark.values.value_decoding import DECODED, REASON, Decoding, with_decoded

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from tidelog.spark.lake.tables import LakeTable

COLUMNS = ("key", "value", "headers", "timestamp", "offset", "partition")
ERROR = "decode_error"
MADE_FROM_TIMESTAMP = {"date": "to_date(timestamp)", "hour": "hour(timestamp)"}
TABLE_QUERY, DEAD_LETTER_QUERY = "table", "dead-letter"


class OnBad(StrEnum):
    FAIL = "fail"
    KEEP = "keep"
    DEAD_LETTER = "dead-letter"


@dataclass(frozen=True, slots=True)
class Sync:
    topic: str
    path: str
    table_format: str
    brokers: str
    columns: tuple[str, ...] = COLUMNS
    prefix: str = ""
    """In front of the names of the record's columns, where decoded fields have the same."""
    partition_by: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    """How values are decoded, and where bad ones go."""
    decoding: Decoding | None = None
    on_bad: OnBad = OnBad.FAIL
    batch_records: int | None = None
    every: str | None = None
    client: Mapping[str, str] = field(default_factory=dict)
    """Options of the connection, such as kafka.security.protocol."""
    table_options: Mapping[str, str] = field(default_factory=dict)

    def lake_options(self) -> dict[str, str]:
        given = {"path": self.path, "tableFormat": self.table_format, **self.table_options}
        return given | ({"partitionBy": ",".join(self.partition_by)} if self.partition_by else {})


def build_sync(spark: "SparkSession", sync: Sync) -> Build:
    """The queries, not yet started. BadSchema and OptionError say what cannot be."""
    built = Build(spark, f"sync-{sync.topic}", sync.brokers, Path())
    of_sink = {"path", "tableFormat"}
    options = {name: value for name, value in sync.lake_options().items() if name not in of_sink}
    sink: dict[str, Any] = {sync.table_format: sync.path, "options": options, "every": sync.every}
    frame = table_frame(_records(spark, sync), sync)
    built.add_sink(frame, Sink(from_="records", name=TABLE_QUERY, **sink))
    if sync.decoding is not None and sync.decoding.reader is not None:
        built.readers[sync.topic] = sync.decoding.reader
    if sync.on_bad is OnBad.DEAD_LETTER and sync.decoding is not None:
        bad = dead_letters(spark, _with_client(sync), sync.brokers, sync.decoding, built.name)
        sink = {"topic": sync.source.dead_letter, "delivery": "exactly-once", "options": dict(sync.client)}
        built.add_sink(
            bad.where("value IS NOT NULL"),
            Sink(from_="records", name=DEAD_LETTER_QUERY, every=sync.every, **sink),
        )
    return built


def open_synced_table(sync: Sync, frame: "DataFrame") -> "LakeTable":
    """Made where there is none, so that readers find it before the first record."""
    from tidelog.spark.lake.spark_types import arrow_schema
    from tidelog.spark.lake.tables import open_table

    return open_table(parse_options(sync.lake_options()), arrow_schema(frame.schema))


def table_frame(records: "DataFrame", sync: Sync) -> "DataFrame":
    from pyspark.sql.functions import col, expr

    about: dict[str, Column] = {f"{sync.prefix}{name}": col(name) for name in sync.columns}
    made: dict[str, Column] = {}
    frame = records
    if sync.decoding is not None:
        frame = _checked(with_decoded(records, sync.decoding), sync)
        fields = frame.select(f"{DECODED}.*").columns
        made = {name: col(DECODED)[name] for name in fields}
        if sync.on_bad is OnBad.KEEP:
            made[f"{sync.prefix}{ERROR}"] = expr(f"CASE WHEN value IS NOT NULL THEN {REASON} END")
        _refuse_names_used_twice(list(about), fields)
    for name in sync.partition_by:
        if name not in about and name not in made:
            if name not in MADE_FROM_TIMESTAMP:
                known = ", ".join([*about, *made, *MADE_FROM_TIMESTAMP])
                raise OptionError(f"no column {name} to partition by; there are {known}")
            made[name] = expr(MADE_FROM_TIMESTAMP[name])
    return frame.select(*(column.alias(name) for name, column in {**about, **made}.items()))


def _checked(frame: "DataFrame", sync: Sync) -> "DataFrame":
    from pyspark.sql.functions import col

    good = col(REASON).isNull() | col("value").isNull()
    match sync.on_bad:
        case OnBad.FAIL:
            return frame.where(good | failing())
        case OnBad.DEAD_LETTER:
            return frame.where(good)
        case _:
            return frame


def _refuse_names_used_twice(about: list[str], fields: list[str]) -> None:
    lower = {name.lower() for name in about}
    twice = [name for name in fields if name.lower() in lower]
    if twice:
        raise BadSchema(
            f"the schema has {', '.join(twice)}, and so has every record; choose a prefix for the record's"
            " columns, such as --prefix record_"
        )


def _records(spark: "SparkSession", sync: Sync) -> "DataFrame":
    options = {
        "kafka.bootstrap.servers": sync.brokers,
        "kafka.isolation.level": "read_committed",
        "subscribe": sync.topic,
        "includeHeaders": str("headers" in sync.columns).lower(),
        **start_options(sync.source.start),
        **_limits(sync),
        **sync.client,
    }
    return spark.readStream.format("tidelog").options(**options).load()


def _with_client(sync: Sync) -> Source:
    import msgspec

    return msgspec.structs.replace(sync.source, options={**_limits(sync), **sync.client})


def _limits(sync: Sync) -> dict[str, str]:
    return {} if sync.batch_records is None else {"maxOffsetsPerTrigger": str(sync.batch_records)}

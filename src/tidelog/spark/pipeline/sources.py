"""Sources as frames: topics, decoded; the records of them that don't decode; and files to join with."""

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.spark.pipeline.moments import start_options
from tidelog.spark.pipeline.registries import chosen_subject
from tidelog.spark.pipeline.spec import Scalar, Sink, Source
from tidelog.spark.values.screening import OnError, Screen, Tombstones, decoded, undecoded
from tidelog.spark.values.value_decoding import Decoding, load_decoding, registered_decoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.spark.lookups.lookup import LookupFile

HEADERS = "array<struct<key:string,value:binary>>"
OF_CONNECTION = ("security.", "sasl.", "ssl.", "enable.ssl.", "client.")
FILE_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}


def open_source(
    spark: "SparkSession", source: Source, brokers: str, directory: Path, decoding: Decoding | None = None
) -> "DataFrame":
    """What the steps see of it. `decoding`, where it is known already: a registry may change in between."""
    if source.file is not None:
        return _file(spark, source, directory)
    options = source_options(source, brokers)
    raw = _table(spark, options) if source.table else _stream(spark, options)
    frame = decoded(raw, decoding or decoding_of(source, directory), screen_of(source))
    if source.watermark is not None:
        frame = frame.withWatermark(source.watermark.column, source.watermark.delay)
    return frame


def dead_letters(
    spark: "SparkSession", source: Source, brokers: str, decoding: Decoding, pipeline: str
) -> "DataFrame":
    """The records that don't decode or break a rule, as they came, with headers that say where and why."""
    from pyspark.sql.functions import array, coalesce, col, concat, lit, struct

    about = {
        "reason": col("_reason"),
        "topic": col("topic"),
        "partition": col("partition").cast("string"),
        "offset": col("offset").cast("string"),
        "timestamp": col("timestamp").cast("string"),
        "pipeline": lit(pipeline),
    }
    made = array(
        *(
            struct(lit(f"dead-letter.{name}").alias("key"), value.cast("binary").alias("value"))
            for name, value in about.items()
        )
    )
    raw = _stream(spark, source_options(source, brokers) | {"includeHeaders": "true"})
    bad = undecoded(raw, decoding, screen_of(source))
    own = coalesce(col("headers"), array().cast(HEADERS))  # null where a record has none
    return bad.select("key", "value", concat(own, made).alias("headers"))


def dead_letter_sink(name: str, source: Source) -> Sink:
    """Beside the source's topic, reached in the same way. Each record once: a repeated batch adds none."""
    reached = {
        key: value
        for key, value in source.options.items()
        if key.removeprefix("kafka.").startswith(OF_CONNECTION)
    }
    return Sink(
        from_=name,
        name=f"dead-letter-{name}",
        topic=source.dead_letter,
        brokers=source.brokers,
        delivery="exactly-once",
        options=reached,
    )


def screen_of(source: Source) -> Screen:
    return Screen(OnError(source.on_error), source.rules, Tombstones(source.tombstones))


def decoding_of(source: Source, directory: Path) -> Decoding:
    """BadSchema says what is missing or wrong. A registry is asked now."""
    if source.registry is not None:
        choice = chosen_subject(source.registry, source.topic, directory)
        return registered_decoding(source.decode, choice, source.message)
    return load_decoding(
        source.decode,
        schema=source.schema,
        sample=source.sample,
        message=source.message,
        framing=source.framing,
        directory=directory,
    )


def source_options(source: Source, brokers: str) -> dict[str, str]:
    """For `format("tidelog")`. Only committed records, unless the options say otherwise."""
    made = {"kafka.bootstrap.servers": source.brokers or brokers, "kafka.isolation.level": "read_committed"}
    if source.pattern is not None:
        made["subscribePattern"] = source.pattern
    else:
        made["subscribe"] = ",".join(source.topics or [source.topic or ""])
    start = {"read.as": "table"} if source.table else start_options(source.start)
    return made | start | as_text(source.options)


def as_text(options: Mapping[str, Scalar]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()
    }


def _stream(spark: "SparkSession", options: Mapping[str, str]) -> "DataFrame":
    return spark.readStream.format("tidelog").options(**options).load()


def _table(spark: "SparkSession", options: Mapping[str, str]) -> "DataFrame":
    """The latest record of each key, unless it has no value. A key may be in several partitions, where the
    topic has got more of them in the meantime."""
    from pyspark.sql.functions import col, max_by, struct

    raw = spark.read.format("tidelog").options(**options).load()
    newest = max_by(struct(*(col(name) for name in raw.columns)), struct("timestamp", "offset"))
    return raw.groupBy("key").agg(newest.alias("record")).select("record.*").where("value IS NOT NULL")


def open_lookup(spark: "SparkSession", source: Source, directory: Path) -> tuple["DataFrame", "LookupFile"]:
    """A file that is read again when it changes; its columns stay those that it has now."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    from tidelog.spark.lookups.files import read_lookup
    from tidelog.spark.lookups.lookup import RUN, LookupSource, lookup_file
    from tidelog.spark.values.value_decoding import parsed_ddl

    path = str((directory / (source.file or "")).resolve())
    options = as_text(source.options)
    given = {"path": path, RUN: uuid.uuid4().hex, **options}
    known = None if source.schema is None else parsed_ddl(source.schema)
    wanted = None if known is None else to_arrow_schema(known, timezone="UTC")
    found = read_lookup(Path(path), Path(path).read_bytes(), wanted, options)
    schema = known or from_arrow_schema(found.schema)
    spark.dataSource.register(LookupSource)
    frame = spark.read.format(LookupSource.name()).schema(schema).options(**given).load()
    return frame, lookup_file(given, schema)


def _file(spark: "SparkSession", source: Source, directory: Path) -> "DataFrame":
    name = source.file or ""
    path = name if "://" in name else str((directory / name).resolve())
    kind = FILE_FORMATS[Path(name).suffix.lower()]
    reader = spark.read.format(kind)
    if kind == "csv":
        reader = reader.option("header", True).option("inferSchema", source.schema is None)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.options(**as_text(source.options)).load(path)

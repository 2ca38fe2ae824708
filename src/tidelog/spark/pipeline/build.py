"""A pipeline as frames and queries: what a Python pipeline is given, and what a YAML file is turned into.

def pipeline(p: Build) -> None:
    orders = p.source("orders", topic="orders", decode="json", schema="id STRING, amount DOUBLE")
    p.sink(orders.where("amount > 1000"), topic="large-orders", key="id")
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.checks.rules import refuse_rule
from tidelog.spark.pipeline.checks.sinks import check_sink, sink_name
from tidelog.spark.pipeline.checks.sources import check_source
from tidelog.spark.pipeline.checks.streaming import refuse_unsupported
from tidelog.spark.pipeline.faults import Fault, InvalidPipeline
from tidelog.spark.pipeline.lines import Lines, Place
from tidelog.spark.pipeline.load import Loaded, line_in
from tidelog.spark.pipeline.nodes import of_plain
from tidelog.spark.pipeline.sinks import prepared
from tidelog.spark.pipeline.sources import (
    dead_letter_sink,
    dead_letters,
    decoding_of,
    open_lookup,
    open_source,
)
from tidelog.spark.pipeline.spark_faults import Part, explained, sentence, without_spark_log
from tidelog.spark.pipeline.spec import STEP_KINDS, Pipeline, Scalar, Sink, Source
from tidelog.spark.pipeline.steps import apply_step, travel_by_value
from tidelog.spark.values.registered.reader import ReaderSchema
from tidelog.spark.values.value_decoding import Decoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.spark.lookups.lookup import LookupFile


OF_SQL = ("key", "value", "headers")
"""What a sink says in SQL."""


@dataclass(frozen=True)
class Query:
    name: str
    frame: "DataFrame"
    """What is written, in the form that the sink takes."""
    sink: Sink


class Build:
    """What a pipeline in Python is given: it collects sources and sinks, and runs nothing yet.

    `tidelog pipeline run FILE.py:FUNCTION` calls the function with one.

    Example:
        from tidelog.spark import Build

        def large_orders(p: Build) -> None:
            orders = p.source("orders", topic="orders", decode="json", schema="id STRING, amount DOUBLE")
            p.sink(orders.where("amount > 1000"), topic="large-orders", key="id")

    Attributes:
        spark: The Spark session.
        name: The name of the pipeline.
        brokers: Its `bootstrap.servers`.
        directory: The directory that relative paths start from.
        sources: The sources so far, by name.
        frames: The DataFrames so far, by the name that SQL finds them by.
        queries: What the sinks will write.
        lookups: The files among the sources that are read again when they change, by name.
        readers: The schemas of a registry that records are read as, by source.
    """

    def __init__(
        self,
        spark: "SparkSession",
        name: str,
        brokers: str,
        directory: Path,
        lines: Lines | None = None,
        *,
        client: Mapping[str, str] | None = None,
        may_register: bool = True,
    ) -> None:
        self.spark = spark
        self.name = name
        self.brokers = brokers
        self.directory = directory
        self.sources: dict[str, Source] = {}
        self.frames: dict[str, DataFrame] = {}
        self.queries: list[Query] = []
        self.lookups: dict[str, LookupFile] = {}
        self.readers: dict[str, ReaderSchema] = {}
        self._lines = lines or Lines()
        self._client = dict(client or {})
        self._may_register = may_register

    def source(self, name: str, **keys: Any) -> "DataFrame":
        """A stream of topics, or the rows of a file, as a DataFrame. SQL finds it under its name.

        Args:
            name: The name of the source.
            keys: What a source in YAML takes, such as `topic`, `decode`, `schema` and `watermark`; see
                docs/pipelines.md.

        Raises:
            InvalidPipeline: A key is unknown or its value is wrong.
        """
        checker = Checker()
        source = checker.read(of_plain(keys), Source, ("sources", name))
        check_source(source, self.directory, ("sources", name), checker)
        checker.raise_faults()
        with self._explained(("sources", name), f"the source '{name}'"):
            return self.add_source(name, source)

    def sink(self, frame: "DataFrame", **keys: Any) -> None:
        """Where a DataFrame goes: to a topic, a table of a lake, or the console.

        Args:
            frame: The rows.
            keys: What a sink in YAML takes but for `from`, such as `topic`, `key`, `mode` and `delivery`;
                see docs/pipelines.md.

        Raises:
            InvalidPipeline: A key is unknown, its value is wrong, or Spark cannot run the query.
        """
        checker = Checker()
        place = ("sinks", len(self.queries))
        sink = checker.read(of_plain({"from": "frame", **keys}), Sink, place)
        check_sink(sink, self.directory, place, checker)
        checker.raise_faults()
        if sink.name is None and sink.kind != "topic":
            sink = msgspec.structs.replace(sink, name=sink.kind)
        self._add_explained_sink(frame, sink, place)

    def add_source(self, name: str, source: Source) -> "DataFrame":
        """Add a source as a YAML file describes it.

        Args:
            name: The name of the source.
            source: Its description, already checked.
        """
        if source.file is None and source.brokers is None:
            source = msgspec.structs.replace(source, options=self._with_client(source.options))
        if source.file is not None:
            return self._named(name, self._file(name, source))
        decoding = decoding_of(source, self.directory)
        if decoding.reader is not None:
            self.readers[name] = decoding.reader
        self._check_rules(name, source, decoding)
        frame = open_source(self.spark, source, self.brokers, self.directory, decoding)
        if source.dead_letter is not None:
            bad = dead_letters(self.spark, source, self.brokers, decoding, self.name)
            self.add_sink(bad, dead_letter_sink(name, source))
        self.sources[name] = source
        return self._named(name, frame)

    def add_sink(self, frame: "DataFrame", sink: Sink) -> None:
        """Add a sink as a YAML file describes it.

        It raises what the sink or Spark has against it, so that a run does not begin in vain.

        Args:
            frame: The rows.
            sink: Its description, already checked.

        Raises:
            InvalidPipeline: Another query has its name, or Spark cannot run it.
        """
        name = sink_name(sink)
        if any(query.name == name for query in self.queries):
            said = f"another query is called '{name}'; give this one a name of its own"
            raise InvalidPipeline([Fault(None, f"sinks[{len(self.queries)}]", said)])
        if sink.kind == "topic" and sink.brokers is None:
            sink = msgspec.structs.replace(sink, options=self._with_client(sink.options))
        written = prepared(frame, sink, self.brokers, self.directory, may_register=self._may_register)
        refuse_unsupported(written, sink.mode)
        self.queries.append(Query(name, written, sink))

    def add_all(self, spec: Pipeline) -> None:
        """Add what a YAML file describes, in its order.

        Args:
            spec: The file, already checked.
        """
        for name, source in spec.sources.items():
            with self._explained(("sources", name), f"the source '{name}'"):
                self.add_source(name, source)
        for number, step in enumerate(spec.steps):
            kind = next(kind for kind in STEP_KINDS if getattr(step, kind) is not None)
            with self._explained(("steps", number, kind), f"the step '{step.name}'", step.sql):
                self._named(step.name, apply_step(self.spark, step, self.frames, self.directory))
        for number, said in enumerate(spec.sinks):
            sink = msgspec.structs.replace(said, every=said.every or spec.every)
            self._add_explained_sink(self.frames[sink.from_], sink, ("sinks", number))

    def _with_client(self, options: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Options of the connection, unless the pipeline has its own: passwords go to these brokers alone."""
        named = {name.removeprefix("kafka.") for name in options}
        others = {name: value for name, value in self._client.items() if name not in named}
        return {**{f"kafka.{name}": value for name, value in others.items()}, **options}

    def _file(self, name: str, source: Source) -> "DataFrame":
        self.sources[name] = source
        if not source.reload:
            return open_source(self.spark, source, self.brokers, self.directory)
        frame, self.lookups[name] = open_lookup(self.spark, source, self.directory)
        return frame

    def _check_rules(self, name: str, source: Source, decoding: Decoding) -> None:
        if not source.rules:
            return
        without = msgspec.structs.replace(source, rules={}, watermark=None)
        frame = open_source(self.spark, without, self.brokers, self.directory, decoding)
        for rule, sql in source.rules.items():
            with self._explained(("sources", name, "rules", rule), f"the rule '{rule}'", sql):
                refuse_rule(frame, sql)

    def _add_explained_sink(self, frame: "DataFrame", sink: Sink, place: Place) -> None:
        from pyspark.sql.functions import expr

        for key in OF_SQL:
            if (text := getattr(sink, key)) is not None:
                with self._explained((*place, key), f"'{key}'", text):
                    frame.select(expr(text))
        if sink.upsert is not None:
            with self._explained((*place, "upsert"), "'upsert'", sink.upsert.delete):
                frame.select(
                    *(f"`{name}`" for name in (*sink.upsert.columns, *filter(None, [sink.upsert.order])))
                )
                frame.where(sink.upsert.delete or "true")
        with self._explained((*place, "mode") if sink.mode != "append" else place, "the sink"):
            self.add_sink(frame, sink)

    @contextmanager
    def _explained(self, place: Place, subject: str, text: str | None = None) -> Iterator[None]:
        with explained(Part(place, subject, text or "", self.frames, self._functions), self._lines):
            yield

    def _functions(self) -> Iterable[str]:
        return [row[0] for row in self.spark.sql("SHOW FUNCTIONS").collect()]

    def _named(self, name: str, frame: "DataFrame") -> "DataFrame":
        """SQL finds it by this name."""
        frame.createOrReplaceTempView(name)
        self.frames[name] = frame
        return frame


def build(
    spark: "SparkSession",
    loaded: Loaded,
    brokers: str,
    client: Mapping[str, str] | None = None,
    *,
    may_register: bool = True,
) -> Build:
    """Everything that Spark can check without running: names, types, watermarks, output modes.

    `client` has the properties to reach `brokers` with, by Kafka's names. Without `may_register`
    schemas are only compared with those that the registry has."""
    from pyspark.errors import PySparkException

    spec = loaded.spec
    own = spec.brokers if spec is not None and spec.brokers is not None else brokers
    to_these = client if own == brokers else None
    made = Build(
        spark,
        loaded.name,
        own,
        loaded.directory,
        loaded.lines,
        client=to_these,
        may_register=may_register,
    )
    if spec is not None:
        made.add_all(spec)
    elif loaded.function is not None:
        travel_by_value(sys.modules[loaded.function.__module__])
        try:
            with without_spark_log():
                loaded.function(made)
        except PySparkException as error:
            said = sentence(error, Part((), f"the function '{loaded.function.__name__}'", frames=made.frames))
            raise InvalidPipeline([Fault(line_in(error, loaded.path), str(loaded.path), said)]) from error
    if not made.queries:
        raise InvalidPipeline([Fault(None, str(loaded.path), "there is no sink, so nothing would run")])
    return made

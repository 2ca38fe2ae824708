"""A pipeline as frames and queries: what a Python pipeline is given, and what a YAML file is turned into.

def pipeline(p: Build) -> None:
    orders = p.source("orders", topic="orders", decode="json", schema="id STRING, amount DOUBLE")
    p.sink(orders.where("amount > 1000"), topic="large-orders", key="id")
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tidelog.spark.decoding_errors import BadSchema
from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.faults import Fault, InvalidPipeline
from tidelog.spark.pipeline.load import Loaded
from tidelog.spark.pipeline.nodes import of_plain
from tidelog.spark.pipeline.rules import check_sink, check_source, sink_name
from tidelog.spark.pipeline.sources import dead_letters, open_source
from tidelog.spark.pipeline.spec import Pipeline, Sink, Source
from tidelog.spark.pipeline.steps import apply_step, travel_by_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Query:
    name: str
    frame: "DataFrame"
    sink: Sink


class Build:
    """Collects queries; nothing runs yet."""

    def __init__(self, spark: "SparkSession", name: str, brokers: str, folder: Path) -> None:
        self.spark = spark
        self.name = name
        self.brokers = brokers
        self.folder = folder
        self.sources: dict[str, Source] = {}
        self.frames: dict[str, DataFrame] = {}
        self.queries: list[Query] = []

    def source(self, name: str, **keys: Any) -> "DataFrame":
        """A stream of topics, or a file; the keys are those of a source in YAML."""
        checker = Checker()
        source = checker.read(of_plain(keys), Source, ("sources", name))
        check_source(source, self.folder, ("sources", name), checker)
        checker.raise_faults()
        return self.add_source(name, source)

    def sink(self, frame: "DataFrame", **keys: Any) -> None:
        """Where a frame goes; the keys are those of a sink in YAML, but for `from`."""
        checker = Checker()
        place = ("sinks", len(self.queries))
        sink = checker.read(of_plain({"from": "frame", **keys}), Sink, place)
        check_sink(sink, self.folder, place, checker)
        checker.raise_faults()
        if sink.name is None and sink.kind != "topic":
            sink = msgspec.structs.replace(sink, name=sink.kind)
        self.add_sink(frame, sink)

    def add_source(self, name: str, source: Source) -> "DataFrame":
        try:
            frame = open_source(self.spark, source, self.brokers, self.folder)
            if source.dead_letter is not None:
                bad = dead_letters(self.spark, source, self.brokers, self.folder, self.name)
                sink = Sink(from_=name, name=f"dead-letter-{name}", topic=source.dead_letter)
                self.add_sink(bad, sink)
        except BadSchema as error:
            raise InvalidPipeline([Fault(None, f"sources.{name}", str(error))]) from error
        self.sources[name] = source
        return self._named(name, frame)

    def add_sink(self, frame: "DataFrame", sink: Sink) -> None:
        name = sink_name(sink)
        if any(query.name == name for query in self.queries):
            said = f"another query is called '{name}'; give this one a name of its own"
            raise InvalidPipeline([Fault(None, f"sinks[{len(self.queries)}]", said)])
        self.queries.append(Query(name, frame, sink))

    def add_all(self, spec: Pipeline) -> None:
        """What the YAML file says, in its order."""
        for name, source in spec.sources.items():
            self.add_source(name, source)
        for step in spec.steps:
            self._named(step.name, apply_step(self.spark, step, self.frames, self.folder))
        for sink in spec.sinks:
            every = sink.every or spec.every
            self.add_sink(self.frames[sink.from_], msgspec.structs.replace(sink, every=every))

    def _named(self, name: str, frame: "DataFrame") -> "DataFrame":
        """SQL finds it by this name."""
        frame.createOrReplaceTempView(name)
        self.frames[name] = frame
        return frame


def build(spark: "SparkSession", loaded: Loaded, brokers: str) -> Build:
    """Everything that Spark can check without running: names, types, watermarks."""
    from pyspark.errors import PySparkException

    spec = loaded.spec
    own = spec.brokers if spec is not None and spec.brokers is not None else brokers
    made = Build(spark, loaded.name, own, loaded.folder)
    try:
        if spec is not None:
            made.add_all(spec)
        elif loaded.function is not None:
            travel_by_value(sys.modules[loaded.function.__module__])
            loaded.function(made)
    except PySparkException as error:
        raise InvalidPipeline([Fault(None, str(loaded.path), spark_said(error))]) from error
    if not made.queries:
        raise InvalidPipeline([Fault(None, str(loaded.path), "there is no sink, so nothing would run")])
    return made


def spark_said(error: BaseException) -> str:
    """The sentence of Spark's message, without its plan and its trace."""
    text = str(error).strip()
    lines = [line.strip() for line in text.split("\n;\n")[0].splitlines()]
    kept = []
    for line in lines:
        if line.startswith(("== ", "=== ", "JVM stacktrace", "at org.", "at java.")):
            break
        if line:
            kept.append(line)
    return " ".join(kept)[:1000]

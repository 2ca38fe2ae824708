"""What a pipeline says: the keys of its YAML file, which are the arguments of a Python pipeline too.

docs/pipelines.md explains each key; a test holds the two together.
"""

from typing import Literal

import msgspec

Scalar = str | int | float | bool


class Watermark(msgspec.Struct, frozen=True, kw_only=True):
    """How late a record may be, by the time in `column`."""

    column: str
    delay: str


class Registry(msgspec.Struct, frozen=True, kw_only=True):
    """A schema registry, and which of its schemas are read or written."""

    url: str
    user: str | None = None
    password: str | None = None
    token: str | None = None
    subject: str | None = None
    version: int | None = None
    register: bool = True
    options: dict[str, Scalar] = {}


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A stream of topics; or what streams are joined with, a table of a topic or a file."""

    topic: str | None = None
    topics: list[str] | None = None
    pattern: str | None = None
    file: str | None = None
    table: bool = False
    reload: bool = False
    brokers: str | None = None
    start: str = "earliest"
    decode: Literal["raw", "string", "json", "avro", "protobuf"] = "raw"
    schema: str | None = None
    sample: str | None = None
    message: str | None = None
    framing: Literal["none", "confluent"] = "none"
    registry: str | Registry | None = None
    rules: dict[str, str] = {}
    tombstones: Literal["error", "drop", "keep"] = "error"
    on_error: Literal["fail", "drop", "dead-letter"] = "fail"
    dead_letter: str | None = None
    watermark: Watermark | None = None
    options: dict[str, Scalar] = {}

    @property
    def is_stream(self) -> bool:
        return self.file is None and not self.table


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that remembers something for each key: a StatefulProcessor of PySpark."""

    by: list[str]
    rule: str
    output: str
    time: Literal["none", "processing", "event"] = "none"
    mode: Literal["append", "update"] = "append"


class Step(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """One of sql, python, dedupe and state makes a new frame of those above it."""

    name: str
    from_: str | list[str] | None = None
    sql: str | None = None
    python: str | None = None
    dedupe: list[str] | None = None
    state: State | None = None
    watermark: Watermark | None = None


class Upsert(msgspec.Struct, frozen=True, kw_only=True):
    """A row takes the place of the one that has the same values in the columns `by`."""

    by: str | list[str]
    order: str | None = None
    delete: str | None = None

    @property
    def columns(self) -> list[str]:
        return [self.by] if isinstance(self.by, str) else self.by


class Sink(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Where a frame goes: a topic, a table or the console. Each is a query with a checkpoint of its own."""

    from_: str
    name: str | None = None
    topic: str | None = None
    delta: str | None = None
    iceberg: str | None = None
    parquet: str | None = None
    console: bool = False
    upsert: Upsert | None = None
    brokers: str | None = None
    key: str | None = None
    value: str | None = None
    encode: Literal["json", "avro", "protobuf"] | None = None
    schema: str | None = None
    message: str | None = None
    framing: Literal["none", "confluent"] = "none"
    schema_id: int | None = None
    registry: str | Registry | None = None
    headers: str | None = None
    delivery: Literal["at-least-once", "exactly-once"] = "at-least-once"
    mode: Literal["append", "update", "complete"] = "append"
    every: str | None = None
    options: dict[str, Scalar] = {}

    @property
    def kind(self) -> str:
        return next((kind for kind in SINK_KINDS if getattr(self, kind)), "")


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    brokers: str | None = None
    checkpoint: str | None = None
    every: str | None = None
    metrics_port: int | None = None
    metrics_host: str | None = None
    settings: dict[str, Scalar] = {}
    sources: dict[str, Source]
    steps: list[Step] = []
    sinks: list[Sink]


SINK_KINDS = ("topic", "delta", "iceberg", "parquet", "console")
STEP_KINDS = ("sql", "python", "dedupe", "state")
SUBSCRIPTIONS = ("topic", "topics", "pattern", "file")

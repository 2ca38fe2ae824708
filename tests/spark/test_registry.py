"""Pipelines and lake syncs with the broker's own schema registry: schemas that change while a stream runs."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from tests.interop.docstring_examples import docstring_examples
from tests.spark.broker_topics import Topics
from tests.spark.read_back import committed
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.decoding import RecordDecoder
from tidelog.blocking.registry.framing import prefix
from tidelog.blocking.registry.options import options_of_url
from tidelog.registry.schema import Schema, SchemaType
from tidelog.spark.lake.sync import OnBad, Sync, build_sync, open_synced_table
from tidelog.spark.pipeline.build import build
from tidelog.spark.pipeline.faults import InvalidPipeline
from tidelog.spark.pipeline.load import load_pipeline
from tidelog.spark.pipeline.run import PipelineFailed, Run, RunOutcome
from tidelog.spark.values.registered.reader import SubjectChoice
from tidelog.spark.values.value_decoding import Decoding, registered_decoding
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID = {"name": "id", "type": "string"}
CENTS = {"name": "cents", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
VIP = {"name": "vip", "type": "boolean", "default": False}


@pytest.fixture(scope="module")
def registry(broker: Broker) -> RegistryClient:
    return RegistryClient(options_of_url(broker.schema_registry_url, retry_s=2.0))


class AvroTopic:
    """A topic whose producers register what they write."""

    def __init__(self, topics: Topics, registry: RegistryClient, name: str | None = None) -> None:
        self.name = topics.create(name=name)
        self.subject = f"{self.name}-value"
        self._topics, self._registry = topics, registry

    def send(self, fields: list[Any], *rows: dict[str, Any]) -> None:
        text = json.dumps({"type": "record", "name": "Order", "fields": fields})
        schema_id = self._registry.register(self.subject, Schema(SchemaType.AVRO, text))
        parsed = fastavro.parse_schema(json.loads(text))
        values = []
        for row in rows:
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, parsed, row)
            values.append(prefix(schema_id) + stream.getvalue())
        self.send_bytes(*values)

    def send_bytes(self, *values: bytes) -> None:
        self._topics.fill(self.name, values)


@pytest.fixture
def orders(topics: Topics, registry: RegistryClient) -> AvroTopic:
    return AvroTopic(topics, registry)


def rows_of(path: Path, table_format: str) -> list[dict[str, Any]]:
    if table_format == "delta":
        from deltalake import DeltaTable

        found = DeltaTable(path).to_pyarrow_table()
    else:
        from pyiceberg.table import StaticTable

        found = StaticTable.from_metadata(str(path)).scan().to_arrow()
    rows: list[dict[str, Any]] = found.to_pylist()
    return sorted(rows, key=lambda row: str(row["id"]))


def in_turn(*stages: tuple[Callable[[], bool], Callable[[], None]]) -> Callable[[], bool]:
    """For a run: each stage waits for its condition and then acts; after the last the run is to stop."""
    left = list(stages)

    def is_done() -> bool:
        while left and left[0][0]():
            left.pop(0)[1]()
        return not left

    return is_done


def has_rows(path: Path, table_format: str, count: int) -> Callable[[], bool]:
    def has() -> bool:
        try:
            return len(rows_of(path, table_format)) >= count
        except Exception:  # no table yet, or one that is being made
            return False

    return has


@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_a_field_that_appears_while_a_sync_runs_becomes_a_column(
    spark: "SparkSession", broker: Broker, orders: AvroTopic, tmp_path: Path, table_format: str
) -> None:
    orders.send([ID, CENTS], {"id": "a", "cents": 1}, {"id": "b", "cents": 2})
    choice = SubjectChoice(options_of_url(broker.schema_registry_url), orders.subject)
    sync = Sync(
        orders.name,
        str(tmp_path / "table"),
        table_format,
        broker.bootstrap_servers,
        columns=("offset",),
        decoding=registered_decoding(None, choice),
    )
    built = build_sync(spark, sync)
    table = tmp_path / "table"
    open_synced_table(sync, built.queries[0].frame)
    notes: list[str] = []

    def evolve() -> None:
        orders.send([ID, CENTS, NOTE], {"id": "c", "cents": 3, "note": "new"})
        orders.send([ID, CENTS], {"id": "d", "cents": 4})  # a producer that is not updated yet

    run = Run(
        str(tmp_path / "checkpoint"),
        once=False,
        show=lambda *_: None,
        note=notes.append,
        rebuild=lambda: build_sync(spark, replace(sync, decoding=registered_decoding(None, choice))),
    )
    run.start(built)
    stages = in_turn(
        (has_rows(table, table_format, 2), evolve), (has_rows(table, table_format, 4), lambda: None)
    )
    assert run.until_done(stages, lambda _: None) is RunOutcome.STOPPED
    assert rows_of(table, table_format) == [
        {"offset": 0, "id": "a", "cents": 1, "note": None},
        {"offset": 1, "id": "b", "cents": 2, "note": None},
        {"offset": 2, "id": "c", "cents": 3, "note": "new"},
        {"offset": 3, "id": "d", "cents": 4, "note": None},
    ]
    assert notes == [f"'{orders.name}' is read as version 2 of {orders.subject} now, after version 1."]


def test_a_sync_stops_while_no_registry_answers_and_loses_nothing(
    spark: "SparkSession", broker: Broker, orders: AvroTopic, tmp_path: Path
) -> None:
    orders.send([ID, CENTS], {"id": "a", "cents": 1})
    orders.send([ID, CENTS, NOTE], {"id": "b", "cents": 2, "note": "!"})
    alive = SubjectChoice(options_of_url(broker.schema_registry_url), orders.subject)
    decoding = registered_decoding("avro", alive)
    assert decoding.reader is not None
    gone = replace(alive, registry=options_of_url("http://localhost:1", retry_s=0.5))
    unanswered = replace(decoding, reader=replace(decoding.reader, choice=gone))
    table = tmp_path / "table"
    sync = Sync(
        orders.name,
        str(table),
        "delta",
        broker.bootstrap_servers,
        columns=("offset",),
        on_bad=OnBad.KEEP,  # even then: it is not the record that is bad
    )

    def run(how: Decoding) -> None:
        running = Run(str(tmp_path / "checkpoint"), once=True, show=lambda *_: None)
        running.start(build_sync(spark, replace(sync, decoding=how)))
        running.until_done(lambda: False, lambda _: None)

    with pytest.raises(PipelineFailed, match=r"no schema registry answers \(http://localhost:1: nothing"):
        run(unanswered)
    run(decoding)
    assert [(row["id"], row["note"], row["decode_error"]) for row in rows_of(table, "delta")] == [
        ("a", None, None),
        ("b", "!", None),
    ]


def pipeline(directory: Path, registry_url: str, topic: str, *lines: str) -> str:
    file = directory / "pipeline.yaml"
    text = f"""
name: registered
sources:
  orders:
    topic: {topic}
    decode: avro
    registry: {registry_url}
    on_error: dead-letter
    dead_letter: {topic}-dead
sinks:
  - from: orders
    topic: {topic}-out
    encode: avro
    delivery: exactly-once
    registry: {registry_url}
"""
    file.write_text(text + "\n".join(lines))
    return str(file)


def run_once(spark: "SparkSession", broker: Broker, file: str, checkpoint: Path) -> None:
    def rebuild() -> Any:
        return build(spark, load_pipeline(file), broker.bootstrap_servers)

    run = Run(str(checkpoint), once=True, show=lambda *_: None, rebuild=rebuild)
    run.start(rebuild())
    run.until_done(lambda: False, lambda _: None)


def written(broker: Broker, registry: RegistryClient, topic: str) -> list[Any]:
    """As a consumer with the registry reads it."""
    decoder = RecordDecoder(registry)
    found = [decoder.decode(message.value()) for message in committed(broker.bootstrap_servers, topic)]
    return [record.value for record in found if record is not None]


def test_a_pipeline_reads_by_id_registers_what_it_writes_and_keeps_the_rest(
    spark: "SparkSession",
    broker: Broker,
    registry: RegistryClient,
    orders: AvroTopic,
    tmp_path: Path,
) -> None:
    file = pipeline(tmp_path, broker.schema_registry_url, orders.name)
    orders.send([ID, CENTS], {"id": "a", "cents": 1})
    unknown = prefix(999_999) + b"?"
    orders.send_bytes(b"no header", unknown)
    run_once(spark, broker, file, tmp_path / "checkpoint")
    orders.send([ID, CENTS, NOTE], {"id": "b", "cents": 2, "note": "!"})
    run_once(spark, broker, file, tmp_path / "checkpoint")
    decoder = RecordDecoder(registry)
    written = [
        decoder.decode(message.value())
        for message in committed(broker.bootstrap_servers, f"{orders.name}-out")
    ]
    assert [found.value for found in written if found is not None] == [
        {"id": "a", "cents": 1},
        {"id": "b", "cents": 2, "note": "!"},
    ]
    assert registry.versions(f"{orders.name}-out-value") == [1, 2]
    dead = {
        message.value(): dict(message.headers())["dead-letter.reason"].decode()
        for message in committed(broker.bootstrap_servers, f"{orders.name}-dead")
    }
    assert dead == {
        b"no header": "no schema registry header: a zero byte and a schema's number",
        unknown: "the schema registry has no schema 999999",
    }


def test_what_cannot_be_read_stops_the_pipeline_and_loses_nothing(
    spark: "SparkSession", broker: Broker, registry: RegistryClient, orders: AvroTopic, tmp_path: Path
) -> None:
    registry.set_config(orders.subject, {"compatibility": "NONE"})
    orders.send([ID, CENTS], {"id": "a", "cents": 1})
    orders.send([{"name": "id", "type": "long"}, VIP], {"id": 7, "vip": True})
    file = pipeline(tmp_path, broker.schema_registry_url, orders.name)
    with pytest.raises(PipelineFailed) as failure:
        run_once(spark, broker, file, tmp_path / "checkpoint")
    assert f"version 2 of {orders.subject} cannot read records of version 1" in str(failure.value)
    # A version that stays makes of it what each value is that does not decode.
    text = (
        Path(file)
        .read_text()
        .replace(
            f"registry: {broker.schema_registry_url}\n    on_error",
            f"registry: {{url: '{broker.schema_registry_url}', version: 2}}\n    on_error",
        )
    )
    Path(file).write_text(text)
    run_once(spark, broker, file, tmp_path / "checkpoint")
    decoder = RecordDecoder(registry)
    [row] = [
        decoder.decode(message.value())
        for message in committed(broker.bootstrap_servers, f"{orders.name}-out")
    ]
    assert row is not None
    assert row.value == {"id": 7, "vip": True}
    assert len(committed(broker.bootstrap_servers, f"{orders.name}-dead")) == 1


def test_json_by_id_and_rows_that_the_registry_refuses(
    spark: "SparkSession", broker: Broker, registry: RegistryClient, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create()
    closed = {"type": "object", "additionalProperties": False}
    old = json.dumps({**closed, "properties": {"id": {"type": "integer"}}})
    new = json.dumps(
        {
            **closed,
            "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        }
    )
    first, second = (
        registry.register(f"{topic}-value", Schema(SchemaType.JSON, text)) for text in (old, new)
    )
    values = [
        prefix(first) + b'{"id": 1}',
        prefix(second) + b'{"id": 2, "tags": ["x"]}',
        b'{"id": 3}',
        prefix(first) + b"{",
    ]
    topics.fill(topic, values)
    file = tmp_path / "json.yaml"
    file.write_text(
        f"""
name: json
sources:
  things:
    topic: {topic}
    decode: json
    registry: {broker.schema_registry_url}
    on_error: dead-letter
    dead_letter: {topic}-dead
steps:
  - {{name: plain, sql: "SELECT id, tags FROM things"}}
sinks:
  - {{from: plain, topic: {topic}-out, encode: json, registry: "{broker.schema_registry_url}"}}
"""
    )
    run_once(spark, broker, str(file), tmp_path / "checkpoint")
    out = [message.value() for message in committed(broker.bootstrap_servers, f"{topic}-out")]
    own = prefix(registry.version(f"{topic}-out-value").id)
    assert out == [own + b'{"id":1}', own + b'{"id":2,"tags":["x"]}']
    reasons = [
        dict(message.headers())["dead-letter.reason"].decode()
        for message in committed(broker.bootstrap_servers, f"{topic}-dead")
    ]
    assert reasons[0] == "no schema registry header: a zero byte and a schema's number"
    assert reasons[1].startswith("not JSON: ")
    file.write_text(file.read_text().replace("SELECT id, tags", "SELECT CAST(id AS STRING) AS id, tags"))
    with pytest.raises(InvalidPipeline, match="do not fit the earlier versions of"):
        build(spark, load_pipeline(str(file)), broker.bootstrap_servers, may_register=False)
    assert registry.versions(f"{topic}-out-value") == [1]


def test_the_example_of_decode_registered(
    spark: "SparkSession",
    broker: Broker,
    registry: RegistryClient,
    topics: Topics,
    capsys: pytest.CaptureFixture[str],
) -> None:
    orders = AvroTopic(topics, registry, "orders")
    orders.send([ID, {"name": "country", "type": "string"}], {"id": "a", "country": "Bhutan"})
    [example] = [one for one in docstring_examples() if one.name == "decode_registered"]
    code = example.code.replace("http://localhost:8081", broker.schema_registry_url)
    example._replace(code=code).run(broker.bootstrap_servers)
    assert "Bhutan" in capsys.readouterr().out

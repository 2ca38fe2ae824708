"""The pipelines of docs/pipelines.md, run as they stand there, and again after a crash that Spark forgot."""

import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2

from tests.spark.broker_topics import Topics
from tests.spark.read_back import committed
from tidelog.spark.pipeline.faults import InvalidPipeline
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text()
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "cents", "type": ["null", "int"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "source", "type": "string", "default": "shop"},
    ],
}
Message = tuple[str | None, Any]


def documented(name: str) -> str:
    [text] = re.findall(rf"```yaml\n(name: {name}\n.*?)```", PAGE, re.DOTALL)
    return str(text)


class Home:
    """A directory with a pipeline of the page, and topics for it."""

    def __init__(self, spark: "SparkSession", broker: Broker, topics: Topics, directory: Path) -> None:
        self.spark, self.servers, self.topics, self.directory = (
            spark,
            broker.bootstrap_servers,
            topics,
            directory,
        )

    def send(self, topic: str, *messages: Message) -> None:
        """Keys and values; what is no text is sent as JSON."""
        if topic not in self.topics.names():
            self.topics.create(name=topic)
        for key, value in messages:
            data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
            self.topics.fill(topic, [data], key=key)  # type: ignore[list-item]

    def start(self, name: str, text: str | None = None, *, once: bool) -> Any:
        from tidelog.spark.pipeline.build import build
        from tidelog.spark.pipeline.load import load_pipeline
        from tidelog.spark.pipeline.run import Run

        file = self.directory / f"{name}.yaml"
        file.write_text(text or documented(name))
        self.notes: list[str] = []
        place = str(self.directory / "checkpoint")
        running = Run(place, once=once, show=lambda *_: None, note=self.notes.append)
        running.start(build(self.spark, load_pipeline(str(file)), self.servers))
        return running

    def run(self, name: str, text: str | None = None) -> None:
        self.start(name, text, once=True).until_done(lambda: False, lambda _: None)

    def refused(self, name: str, text: str) -> str:
        with pytest.raises(InvalidPipeline) as refusal:
            self.start(name, text, once=True)
        return str(refusal.value)

    def forget_last_commit(self, query: str) -> None:
        """As if Spark had died before it noted that the batch is done."""
        commits = self.directory / "checkpoint" / query / "commits"
        last = max(commits.glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)

    def read(self, topic: str) -> list[Any]:
        return list(committed(self.servers, topic))

    def values(self, topic: str) -> list[Any]:
        return [json.loads(message.value() or b"") for message in self.read(topic)]


@pytest.fixture
def home(spark: "SparkSession", broker: Broker, topics: Topics, tmp_path: Path) -> Iterator[Home]:
    yield Home(spark, broker, topics, tmp_path)
    for topic in topics.names():
        if not topic.startswith("_"):
            topics.delete(topic)


def by(rows: Sequence[Mapping[str, Any]], key: str, *columns: str) -> dict[Any, Any]:
    assert len({row[key] for row in rows}) == len(rows)
    return {row[key]: tuple(row[column] for column in columns) for row in rows}


def test_records_that_break_a_rule_are_dead_letters_once(home: Home) -> None:
    good = {"id": "a", "country": "DE", "cents": 5}
    bad = [{"id": "b", "country": "DE", "cents": 0}, {"id": "c", "country": "XX", "cents": 1}]
    home.send("orders", ("k", good), *((row["id"], row) for row in bad), ("n", b"no"))
    home.run("checked-orders")
    for query in ("orders-checked", "dead-letter-orders"):
        home.forget_last_commit(query)
    home.send("orders", ("e", {**good, "id": "e"}), ("f", {**good, "id": "f", "country": None}))
    home.run("checked-orders")
    assert [row["id"] for row in home.values("orders-checked")] == ["a", "e"]
    dead = {message.key(): dict(message.headers()) for message in home.read("orders-dead")}
    reasons = {key.decode(): headers["dead-letter.reason"].decode() for key, headers in dead.items()}
    assert reasons == {
        "b": "the rule 'the amount is positive' is not met: cents > 0",
        "c": "the rule 'the country is one of ours' is not met: country IN ('DE', 'FR', 'PL')",
        "n": "not JSON: Expecting value: line 1 column 1 (char 0)",
        "f": "the rule 'the country is one of ours' is not met: country IN ('DE', 'FR', 'PL')",
    }
    assert len(home.read("orders-dead")) == 4
    assert dead[b"c"]["dead-letter.offset"] == b"2"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("cnets > 0", "the rule 'the amount is positive' names a column 'cnets' that is not there"),
        ("cents + 1", "'cents + 1' is of type bigint, and a rule is a condition, such as 'cents > 0'"),
        ("cents > rand()", "'cents > rand()' may be true at one time and not at another"),
        ("_timestamp < now()", "'_timestamp < now()' may be true at one time and not at another"),
    ],
)
def test_what_cannot_be_a_rule(home: Home, rule: str, said: str) -> None:
    refusal = home.refused("checked-orders", documented("checked-orders").replace("cents > 0", rule))
    assert refusal.startswith(f"line 8, sources.orders.rules.the amount is positive: {said}")


def test_tables_whose_rows_change(home: Home) -> None:
    from deltalake import DeltaTable
    from pyiceberg.table import StaticTable

    def balances() -> dict[Any, Any]:
        rows = DeltaTable(home.directory / "lake/balances").to_pyarrow_table().to_pylist()
        return by(rows, "account", "cents", "bookings")

    def customers() -> dict[Any, Any]:
        table = StaticTable.from_metadata(str(home.directory / "lake/customers")).scan().to_arrow()
        assert {"_deleted", "__deleted"}.intersection(table.column_names) == {"_deleted"}
        return by(table.to_pylist(), "_key", "name", "country")

    booked = [("x", {"account": "a", "cents": 10}), ("y", {"account": "b", "cents": 5})]
    home.send("bookings", *booked)
    home.send(
        "customers", ("1", {"name": "Ann"}), ("2", {"name": "Bob"}), ("1", {"name": "Anna"}), ("3", None)
    )
    home.run("balances")
    assert balances() == {"a": (10, 1), "b": (5, 1)}
    assert customers() == {"1": ("Anna", None), "2": ("Bob", None)}
    home.send("bookings", ("x", {"account": "a", "cents": 7}))
    home.send("customers", ("2", None), ("1", {"name": "Anna", "country": "DE"}), ("4", {"name": "Dan"}))
    for _ in range(2):  # the second time it is repeated, and changes nothing
        home.run("balances")
        assert balances() == {"a": (17, 2), "b": (5, 1)}
        assert customers() == {"1": ("Anna", "DE"), "4": ("Dan", None)}
        for query in ("balances-delta", "customers-iceberg"):
            home.forget_last_commit(query)
    refusal = home.refused("balances", documented("balances").replace("{by: account}", "{by: acount}"))
    assert "sinks[0].upsert: 'upsert' names a column 'acount' that is not there" in refusal


def test_avro_and_protobuf(home: Home) -> None:
    def describe(**fields: int) -> None:
        file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
        order = file.message_type.add(name="Order")
        for number, (name, kind) in enumerate(fields.items(), start=1):
            order.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)  # type: ignore[arg-type]
        files = descriptor_pb2.FileDescriptorSet(file=[file])
        home.directory.joinpath("shop.desc").write_bytes(files.SerializeToString())

    kinds = descriptor_pb2.FieldDescriptorProto
    home.directory.joinpath("order.avsc").write_text(json.dumps(AVRO))
    home.send("orders", ("k", {"id": "a", "cents": 5, "at": "2026-01-02T03:04:05Z"}))
    describe(id=kinds.TYPE_STRING, cents=kinds.TYPE_INT64)
    refusal = home.refused("typed-orders", documented("typed-orders"))
    assert "sinks[1]: the schema has no field for the column 'at'" in refusal
    describe(id=kinds.TYPE_STRING, cents=kinds.TYPE_INT64, at=kinds.TYPE_STRING)
    home.run("typed-orders")
    [avro] = home.read("orders-avro")
    [protobuf] = home.read("orders-protobuf")
    assert avro.key() == b"a"
    found: Any = fastavro.schemaless_reader(io.BytesIO(avro.value()), fastavro.parse_schema(AVRO), None)
    assert (found["id"], found["cents"], found["at"].year, found["source"]) == ("a", 5, 2026, "shop")
    assert protobuf.value() == b"\0\0\0\0\x11\0" + b"\x0a\x01a\x10\x05\x1a\x132026-01-02 03:04:05"
    wrong = (
        documented("typed-orders").replace("id STRING, cents", "idd STRING, cents").replace("key: id, ", "")
    )
    refusal = home.refused("typed-orders", wrong)
    assert "sinks[0]: the schema's field 'id' has to be there, and no column is called so; did you" in refusal


def test_streams_are_joined_with_what_is_newest(home: Home) -> None:
    def countries(**vat: float) -> None:
        lines = "".join(f"{country},{part}\n" for country, part in vat.items())
        fresh = home.directory / "countries.new"
        fresh.write_text("country,vat\n" + lines)
        os.utime(fresh, (1e9 + len(lines), 1e9 + len(lines)))  # settled long ago
        fresh.replace(home.directory / "countries.csv")

    sent: list[str] = []

    def order(id: str, customer: str, country: str) -> None:
        sent.append(id)
        home.send("orders", (id, {"id": id, "customer": customer, "country": country, "cents": 100}))

    countries(DE=0.2)
    home.send("customers", ("1", {"name": "Ann"}), ("2", {"name": "Bob"}), (None, {"name": "Nobody"}))
    order("a", "1", "DE")
    running = home.start("enriched-orders", once=False)

    def is_done() -> bool:
        """Each result brings about the next order, and what it is to be joined with."""
        found = len(home.read("enriched-orders"))
        if found == len(sent) and found == 1:
            countries(DE=0.3, FR=0.1)
            home.send("customers", ("1", {"name": "Anna"}), ("2", None))
            order("b", "1", "FR")
        elif found == len(sent) == 2:
            (home.directory / "countries.csv").write_text("half a f")
            os.utime(home.directory / "countries.csv", (1, 1))
            order("c", "2", "DE")
        return found == 3 and bool(home.notes)

    running.until_done(is_done, lambda _: None)
    assert by(home.values("enriched-orders"), "id", "gross") == {"a": (120,), "b": (110,), "c": (130,)}
    assert [row.get("name") for row in home.values("enriched-orders")] == ["Ann", "Anna", None]
    [note] = home.notes
    assert re.search("countries.csv is not as it has to be: .*; 'countries' stays as it was before", note)


def test_what_differs_from_place_to_place(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidelog.spark.pipeline.load import load_pipeline

    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("STAGE", "live")
    home.directory.joinpath("large.sql").write_text("SELECT * FROM payments WHERE cents > 1000\n")
    home.directory.joinpath("password").write_text("secret\n")
    text = documented("payments").replace("/run/secrets/password", "password")
    home.directory.joinpath("payments.yaml").write_text(text)
    spec = load_pipeline(str(home.directory / "payments.yaml")).spec
    assert spec is not None
    assert (spec.brokers, spec.sources["payments"].topic) == ("localhost:9092", "payments-live")
    assert spec.sources["payments"].options["kafka.sasl.password"] == f"${{file:{home.directory}/password}}"
    assert spec.steps[0].sql == "SELECT * FROM payments WHERE cents > 1000"

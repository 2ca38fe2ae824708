"""The six examples, each with its own sample events, against results worked out without Spark."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.spark.example_results import alerts, documents, moment, revenue, sessions, settled
from tests.spark.read_back import committed
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
START = datetime(2026, 1, 2, 3, 4, 50, tzinfo=UTC)
LATER = START + timedelta(hours=1)


@pytest.fixture(scope="module")
def run_py() -> Iterator[ModuleType]:
    """examples/run.py, which knows where each example keeps its parts."""
    spec = importlib.util.spec_from_file_location("examples_run", EXAMPLES / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


class Ran:
    """What came of it: the events that went in, and the rows that the console was given, by query."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def show(self, query: str, _batch: int, columns: Any, rows: Any, _count: int) -> None:
        made = [dict(zip(columns, row, strict=True)) for row in rows]
        self.rows.setdefault(query, []).extend(made)


RunExample = Callable[..., Ran]


@pytest.fixture
def ran(spark: "SparkSession", broker: Broker, run_py: ModuleType, tmp_path: Path) -> RunExample:
    """Runs an example over some of its events and then others, such as one that closes every window."""
    from tidelog.spark.pipeline.build import build
    from tidelog.spark.pipeline.load import load_pipeline
    from tidelog.spark.pipeline.run import Run, RunOutcome

    def for_a_test(sink: Any) -> Any:
        """All rows of the console, and a table that does not stay in the examples' directory."""
        if sink.kind == "console":
            return msgspec.structs.replace(sink, options={"rows": 100_000})
        return msgspec.structs.replace(sink, delta=str(tmp_path / "table")) if sink.delta else sink

    def run(example: str, count: int, *last: Any) -> Ran:
        made = run_py.generator(example)
        servers = broker.bootstrap_servers
        ran = Ran(list(islice(made.events(Random(7), START), count)))
        run_py.create_topics(servers, made.TOPICS)
        run_py.write(servers, [*ran.events, *last])
        loaded = load_pipeline(run_py.pipeline_file(example))
        built = build(spark, loaded, servers)
        built.queries = [replace(query, sink=for_a_test(query.sink)) for query in built.queries]
        running = Run(str(tmp_path / "checkpoint"), once=True, show=ran.show)
        running.start(built)
        assert running.until_done(lambda: False, lambda found: None) is RunOutcome.FINISHED
        return ran

    return run


def values(broker: Broker, topic: str) -> list[dict[str, Any]]:
    return [json.loads(message.value() or b"") for message in committed(broker.bootstrap_servers, topic)]


def test_clickstream_sessions(ran: RunExample, run_py: ModuleType, tmp_path: Path) -> None:
    from deltalake import DeltaTable
    from event import event

    closing = event(LATER, "clicks", "last", click_id="last", visitor="last", page="/", at=LATER)
    found = ran("clickstream_sessions", 400, closing)
    wanted = sessions(documents(found.events, "clicks"), timedelta(seconds=10))
    assert len(wanted) > 20
    rows = DeltaTable(tmp_path / "table").to_pyarrow_table().to_pylist()
    assert {(row["visitor"], row["began"].replace(tzinfo=None), row["clicks"]) for row in rows} == wanted
    assert len(rows) == len(wanted)
    shown = found.rows["sessions-console"]
    assert {(row["visitor"], row["began"], row["clicks"]) for row in shown} == wanted


def test_revenue_per_minute(ran: RunExample, broker: Broker) -> None:
    found = ran("revenue_per_minute", 1500)
    wanted = revenue(documents(found.events, "orders"))
    last = {(moment(row["minute"]), row["country"]): row for row in values(broker, "revenue-per-minute")}
    assert {place: (row["orders"], row["revenue"]) for place, row in last.items()} == wanted
    assert len({minute for minute, _ in wanted}) > 1


def test_fraud_alerts(ran: RunExample, broker: Broker) -> None:
    found = ran("fraud_alerts", 600)
    wanted = alerts(documents(found.events, "card-payments"))
    rows = values(broker, "fraud-alerts")
    assert len(wanted) >= 5
    assert sorted((row["tried_with"], row["payment_id"]) for row in rows) == sorted(wanted)


def test_orders_and_payments(ran: RunExample, broker: Broker, run_py: ModuleType) -> None:
    from event import event

    # The second pair moves the watermarks, which the first one only announces.
    closing = [
        event(LATER, topic, "last", order_id=f"last-{topic}", cents=1, **{column: LATER})
        for topic, column in (("shop-orders", "ordered_at"), ("shop-payments", "paid_at"))
    ]
    found = ran("orders_and_payments", 300, *closing)
    wanted = settled(documents(found.events, "shop-orders"), documents(found.events, "shop-payments"))
    rows = values(broker, "settled-orders")
    rows = [row for row in rows if not row["order_id"].startswith("last")]
    assert {row["order_id"]: row["state"] for row in rows} == wanted
    assert len(rows) == len(wanted)
    unpaid = {order for order, state in wanted.items() if state == "unpaid"}
    assert unpaid
    assert {row["order_id"] for row in found.rows["unpaid-console"]} == unpaid


def test_growing_schema(
    ran: RunExample, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalake import DeltaTable

    from tidelog.blocking.registry.client import RegistryClient
    from tidelog.blocking.registry.decoding import RecordDecoder

    monkeypatch.setenv("SCHEMA_REGISTRY", broker.schema_registry_url)
    found = ran("growing_schema", 1300)
    decoder = RecordDecoder(RegistryClient(broker.schema_registry_url))
    orders = [made.value for event in found.events if (made := decoder.decode(event.value)) is not None]
    rows = DeltaTable(tmp_path / "table").to_pyarrow_table().to_pylist()
    assert {row["order_id"]: row["coupon"] for row in rows} == {
        order["order_id"]: order.get("coupon") for order in orders
    }
    assert len(rows) == len(orders) == 1300
    assert any(row["coupon"] for row in rows)
    written = [
        decoder.decode(message.value() or b"")
        for message in committed(broker.bootstrap_servers, "revenue-by-country")
    ]
    sums = {row.value["country"]: row.value["revenue"] for row in written if row is not None}
    assert sum(sums.values()) == pytest.approx(sum(order["cents"] for order in orders) / 100)


def test_dead_letters(ran: RunExample, broker: Broker) -> None:
    found = ran("dead_letters", 300)
    dead = committed(broker.bootstrap_servers, "readings-dead")
    bad = [event.value for event in found.events if not is_good(event.value)]
    assert bad
    assert sorted(message.value() or b"" for message in dead) == sorted(bad)
    headers = dict(dead[0].headers() or [])
    assert headers["dead-letter.topic"] == b"readings"
    assert headers["dead-letter.pipeline"] == b"dead_letters"
    reasons = {bytes(dict(message.headers() or [])["dead-letter.reason"] or b"") for message in dead}
    assert b'field celsius is not of the schema\'s type: "warm"' in reasons
    assert any(reason.startswith(b"not JSON: ") for reason in reasons)
    latest = {(row["began"], row["sensor"]): row["readings"] for row in found.rows["console"]}
    assert sum(latest.values()) == len(found.events) - len(bad)


def is_good(value: bytes) -> bool:
    try:
        return isinstance(json.loads(value)["celsius"], float)
    except ValueError:
        return False

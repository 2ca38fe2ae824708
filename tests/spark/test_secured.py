"""Spark against brokers with TLS and SASL: source, sinks and a table, with secrets by reference."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.spark.test_lake_sync import run_sync
from tidelog import Admin, Producer
from tidelog.spark.lake.sync import Sync
from tidelog.testing import Broker, Security

ROOT = Path(__file__).parents[2]
PASSWORD = "planted-secret-of-ann"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(security=Security("sasl_ssl", users={"ann": PASSWORD})) as running:
        yield running


@pytest.fixture(scope="module")
def options(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """As Spark's users write them, with the password in a file."""
    file = tmp_path_factory.mktemp("secret") / "password"
    file.write_text(PASSWORD)
    given = broker.client_config("ann", "spark")
    given["kafka.sasl.jaas.config"] = given["kafka.sasl.jaas.config"].replace(PASSWORD, f"${{file:{file}}}")
    return given


def filled(broker: Broker, topic: str, count: int = 5) -> str:
    with Admin(broker.client_config()) as admin:
        admin.create_topic(topic, partitions=2)
    with Producer(broker.client_config("ann")) as producer:
        for number in range(count):
            producer.send(topic, str(number), partition=number % 2)
    return topic


def values_in(spark, options: dict[str, str], topic: str) -> list[str]:
    given = {**options, "subscribe": topic, "kafka.isolation.level": "read_committed"}
    frame = spark.read.format("tidelog").options(**given).load()
    return sorted(row[0] for row in frame.selectExpr("CAST(value AS STRING)").collect())


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_from_topic_to_topic(spark, broker, options, tmp_path: Path, delivery: str) -> None:
    source = filled(broker, f"in-{delivery}")
    with Admin(broker.client_config()) as admin:
        admin.create_topic(f"out-{delivery}")
    frame = (
        spark.readStream.format("tidelog")
        .options(**options, subscribe=source, startingOffsets="earliest")
        .load()
    )
    query = (
        frame.select("value").writeStream.format("tidelog")
        .options(**options, topic=f"out-{delivery}", delivery=delivery)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )  # fmt: skip
    query.awaitTermination()
    assert query.exception() is None
    assert values_in(spark, options, f"out-{delivery}") == list("01234")
    plans = query._jsq.explainInternal(True) + frame._jdf.queryExecution().toString()
    assert "${file:" in str(options)
    assert PASSWORD not in plans
    files = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def test_names_without_a_prefix_and_certificates_as_text(spark, broker, options) -> None:
    topic = filled(broker, "plain-names")
    given = {name.removeprefix("kafka."): value for name, value in options.items()}
    authority = Path(given.pop("ssl.truststore.location")).read_text()
    given |= {"ssl.truststore.certificates": authority}
    assert values_in(spark, given, topic) == list("01234")


def test_client_certificates(spark) -> None:
    with Broker(security=Security("ssl", users=["ann"])) as broker:
        topic = filled(broker, "mutual")
        assert values_in(spark, broker.client_config("ann", "spark"), topic) == list("01234")


def test_a_wrong_password_is_named_and_not_shown(spark, broker, options) -> None:
    given = {**options, "subscribe": "any", "kafka.sasl.jaas.config": ""}
    given |= {"kafka.sasl.username": "ann", "kafka.sasl.password": "another-secret"}
    with pytest.raises(Exception, match="refused ann") as failure:
        spark.read.format("tidelog").options(**given).load().count()
    assert "another-secret" not in str(failure.value)


def test_a_topic_as_a_table(spark, broker, options, tmp_path: Path) -> None:
    topic = filled(broker, "to-the-lake")
    client = {name: value for name, value in options.items() if name != "kafka.bootstrap.servers"}
    sync = Sync(topic, str(tmp_path / "table"), "delta", broker.bootstrap_servers, client=client)
    run_sync(spark, sync, tmp_path / "checkpoint")
    assert sorted(DeltaTable(sync.path).to_pyarrow_table()["value"].to_pylist()) == [
        b"%d" % n for n in range(5)
    ]


def test_the_example_of_the_docs_runs(
    spark, broker, options, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "connecting.md").read_text(), re.DOTALL)
    [example] = [block for block in blocks if "spark." in block]
    filled(broker, "orders")
    (tmp_path / "password.txt").write_text(PASSWORD)
    for written, actual in {
        "broker.example:9093": broker.bootstrap_servers,
        "ca.pem": options["kafka.ssl.truststore.location"],
        "${file:": f"${{file:{tmp_path}/",
    }.items():
        example = example.replace(written, actual)
    exec(compile(example, "connecting.md", "exec"), {"spark": spark})
    assert capsys.readouterr().out == "5\n"

"""What the Spark tests share: one session per process, brokers, topics and records to read.

A machine without PySpark or a Java for it skips these tests and says what is missing; under CI=true that
fails, as every skip does. They all run on one worker, so that parallel runs start Spark once.
"""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.broker_topics import Topics
from tests.spark.jvm import quick_java
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    # A busy machine starts a Python worker in more than the 15 s that Spark waits by default.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "1",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    if Path(__file__).parent in item.path.parents:
        # Spark starts in minutes where many run; a timeout within a call to it breaks all that follow.
        item.add_marker(pytest.mark.timeout(600))


def missing() -> str | None:
    """What stands in the way of running Spark, with the way to get it; None when all is there."""
    for module in ("pyspark", "pyarrow", "numpy", "pandas"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed: pip install 'tidelog[spark]'"
    from tidelog.spark.engine.java import NoJava, find_java

    try:
        find_java()
    except NoJava as error:
        return str(error)
    return None


@pytest.fixture(scope="session", autouse=True)
def java_options() -> Iterator[None]:
    """Of every JVM that these tests start, in this process or through the command."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick_java().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """local[2], no UI; tests name their queries, tables and topics apart from each other."""
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    from tests.spark.kafka_connector import NoConnector, connector_jars
    from tidelog.spark.engine.session import spark_session

    directory = tmp_path_factory.mktemp("spark")
    places = {
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.local.dir": str(directory / "local"),
    }
    try:
        jars = {"spark.jars": ",".join(map(str, connector_jars()))}
    except NoConnector:  # the one test that needs them says so
        jars = {}
    session = spark_session("tests", master="local[2]", settings=SETTINGS | places | jars)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker for the tests of a file; each uses topics of its own."""
    with Broker() as running:
        yield running


@pytest.fixture
def topics(broker: Broker) -> Topics:
    return Topics(broker)


@pytest.fixture
def source(spark: "SparkSession", broker: Broker) -> Callable[..., Any]:
    """`source(subscribe=…)` is a batch DataFrame, `source(stream=True, subscribe=…)` a streaming one."""

    def load(
        *, stream: bool = False, format: str = "tidelog", schema: str | None = None, **options: Any
    ) -> Any:
        reader = (spark.readStream if stream else spark.read).format(format)
        if schema is not None:
            reader = reader.schema(schema)
        reader = reader.option("kafka.bootstrap.servers", broker.bootstrap_servers)
        for name, value in options.items():
            reader = reader.option(name.replace("__", "."), value)
        return reader.load()

    return load

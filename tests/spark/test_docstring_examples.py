"""The examples in the docstrings of tidelog.spark run as they stand."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.docstring_examples import docstring_examples
from tests.spark.broker_topics import Topics
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = {
    example.name: example for example in docstring_examples() if example.module.startswith("tidelog.spark")
}


def test_examples_print_what_they_read(
    spark: "SparkSession", broker: Broker, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    topics.create(name="events")
    for name in ("spark_session", "each_batch"):
        EXAMPLES[name].run(broker.bootstrap_servers)
        assert capsys.readouterr().out


def test_the_example_of_a_pipeline(
    spark: "SparkSession", broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    from tidelog.spark import Build

    topics.create(name="orders")
    made = Build(spark, "example", broker.bootstrap_servers, tmp_path)
    EXAMPLES["Build"].run(broker.bootstrap_servers)["large_orders"](made)
    assert [query.name for query in made.queries] == ["large-orders"]

"""What Spark has against a pipeline, told before anything runs: step, line, name, and what was meant."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidelog.spark.pipeline.faults import InvalidPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = """\
name: revenue
sources:
  orders:
    topic: orders
    decode: json
    schema: order_id STRING NOT NULL, country STRING, cents BIGINT, at TIMESTAMP
    watermark: {column: at, delay: 1 minute}
  countries: {file: countries.csv}
steps:
  - name: revenue
    sql: |
      SELECT country, window.start AS minute,
        sum(cents) / 100 AS revenue
      FROM orders
      GROUP BY country, window(at, '1 minute')
  - name: unique
    from: orders
    dedupe: [order_id]
sinks:
  - from: revenue
    topic: revenue-per-minute
    key: country
"""
BAD = {
    ("sum(cents)", "sum(cnets)"): (
        "line 13, steps[0].sql: the step 'revenue' names a column 'cnets' that is not there;"
        " did you mean 'cents'?"
    ),
    ("FROM orders", "FROM order"): (
        "line 14, steps[0].sql: the step 'revenue' reads from 'order', and no source or step above is called"
        " so; did you mean 'orders'?"
    ),
    ("sum(cents)", "summ(cents)"): (
        "line 13, steps[0].sql: the step 'revenue' calls 'summ', a function that Spark does not have;"
        " did you mean 'sum'?"
    ),
    ("GROUP BY", "GROP BY"): (
        "line 15, steps[0].sql: the step 'revenue' is refused by Spark: [PARSE_SYNTAX_ERROR] Syntax error"
    ),
    ("[order_id]", "[orderid]"): (
        "line 18, steps[1].dedupe: the step 'unique' names a column 'orderid' that is not there;"
        " did you mean 'order_id'?"
    ),
    ("column: at", "column: when"): (
        "line 3, sources.orders: the source 'orders' names a column 'when' that is not there; there are"
    ),
    ("key: country", "key: contry"): (
        "line 22, sinks[0].key: 'key' names a column 'contry' that is not there; did you mean 'country'?"
    ),
    ("key: country", "value: cast(revenue AS DOUBLE)"): (
        "line 20, sinks[0]: column value is of type double, and must be string or binary"
    ),
    ("    watermark: {column: at, delay: 1 minute}\n", ""): (
        "line 19, sinks[0]: 'mode: append' is not possible here: Spark does not have it for streaming"
        " aggregations without watermark; give the source a 'watermark', or write 'mode: update'"
    ),
    ("- from: revenue", "- from: countries"): (
        "line 20, sinks[0]: it is not made from a stream, so nothing would ever come"
    ),
}


@pytest.fixture
def refusal(spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    from tidelog.spark.pipeline.build import build
    from tidelog.spark.pipeline.load import load_pipeline

    (tmp_path / "countries.csv").write_text("country,name\nDE,Germany\n")

    def refused(text: str) -> str:
        file = tmp_path / "revenue.yaml"
        file.write_text(text)
        with pytest.raises(InvalidPipeline) as caught:
            build(spark, load_pipeline(str(file)), "localhost:1")
        assert "JVM stacktrace" not in capfd.readouterr().err
        return str(caught.value)

    return refused


@pytest.mark.parametrize("change", BAD, ids=lambda change: change[1][:20] or "no watermark")
def test_it_is_refused_at_its_line(change: tuple[str, str], refusal) -> None:
    before, after = change
    assert before in GOOD
    text = GOOD.replace(before, after, 1)
    if after == "- from: countries":
        text = text.replace("    key: country\n", "")
    assert refusal(text).startswith(BAD[change])


def test_a_pipeline_in_python_is_refused_at_its_line(spark: "SparkSession", tmp_path: Path) -> None:
    from tidelog.spark.pipeline.build import build
    from tidelog.spark.pipeline.load import load_pipeline

    file = tmp_path / "copy.py"
    file.write_text(
        "def pipeline(p):\n"
        "    frame = p.source('orders', topic='orders', decode='json', schema='id STRING')\n"
        "    p.sink(frame.where('idd > 1'), topic='copy')\n"
    )
    with pytest.raises(InvalidPipeline) as refusal:
        build(spark, load_pipeline(str(file)), "localhost:1")
    assert str(refusal.value).startswith(f"line 3, {file}: the function 'pipeline' names a column 'idd'")

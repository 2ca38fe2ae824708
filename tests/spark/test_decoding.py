"""Values decoded in Spark: what comes out, what is left out, and what stops the query."""

import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.screening import OnError, Screen, Tombstones, decoded, undecoded
from tidelog.spark.values.value_decoding import load_decoding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, "
    "timestampType int"
)
AVRO = json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]})


def frame(spark: "SparkSession", *values: bytes | None) -> "DataFrame":
    at = datetime(2026, 1, 1)
    rows = [(b"k", value, "events", 0, offset, at, 0) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, SCHEMA)


def reasons(bad: "DataFrame") -> dict[int, str]:
    return {row.offset: row._reason for row in bad.collect()}


def test_json(spark: "SparkSession") -> None:
    decoding = load_decoding("json", schema="id STRING NOT NULL, n DOUBLE")
    values = frame(
        spark, b'{"id":"a","n":1.5}', b'{"id":"a","n":"x"}', b"nope", b'{"n":2}', None, b"[1]", b'{"id":"z"}'
    )
    good = decoded(values, decoding, Screen(OnError.DROP))
    assert good.columns == ["id", "n", "_key", "_topic", "_partition", "_offset", "_timestamp"]
    assert [(row.id, row.n, row._key, row._offset) for row in good.collect()] == [
        ("a", 1.5, "k", 0),
        ("z", None, "k", 6),
    ]
    assert reasons(undecoded(values, decoding)) == {
        1: 'field n is not of the schema\'s type: "x"',
        2: "not JSON: Expecting value: line 1 column 1 (char 0)",
        3: "field id is missing or null",
        4: "there is no value",
        5: "not a JSON object but [1]",
    }


def test_a_record_that_does_not_decode_stops_a_query_that_only_counts(spark: "SparkSession") -> None:
    decoding = load_decoding("json", schema="id STRING")
    with pytest.raises(Exception, match=r"cannot take events\[0\] offset 1: not JSON of the schema: nope"):
        decoded(frame(spark, b'{"id":"a"}', b"nope"), decoding).count()


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, r"there is no value(?!:)"), (b"\x80\xffnope", r"not JSON of the schema: .*nope")],
)
def test_a_record_that_is_no_text_is_named_too(spark: "SparkSession", value: bytes | None, said: str) -> None:
    decoding = load_decoding("json", schema="id STRING")
    with pytest.raises(Exception, match=r"cannot take events\[0\] offset 0: " + said):
        decoded(frame(spark, value), decoding).count()


def test_avro_by_python_workers(spark: "SparkSession") -> None:
    stream = io.BytesIO()
    schema: Any = fastavro.parse_schema(json.loads(AVRO))
    fastavro.schemaless_writer(stream, schema, {"n": 7})
    decoding = load_decoding("avro", schema=AVRO)
    values = frame(spark, stream.getvalue(), b"")
    assert [row.n for row in decoded(values, decoding, Screen(OnError.DROP)).collect()] == [7]
    assert list(reasons(undecoded(values, decoding))) == [1]


def test_schemas_that_cannot_be(spark: "SparkSession") -> None:
    with pytest.raises(BadSchema, match="'STRNG' is no type of Spark; did you mean 'STRING'"):
        decoded(frame(spark), load_decoding("json", schema="id STRNG"))
    with pytest.raises(BadSchema, match="has a field _offset, which is a column about the record"):
        decoded(frame(spark), load_decoding("json", schema="_offset BIGINT"))


def test_a_record_of_which_a_rule_is_not_true_is_bad_too(spark: "SparkSession") -> None:
    decoding = load_decoding("json", schema="id STRING, n INT")
    screen = Screen(OnError.DROP, {"n is positive": "n > 0", "id is short": "length(id) < 3 AND _key = 'k'"})
    values = frame(
        spark, b'{"id":"a","n":1}', b'{"id":"b","n":0}', b'{"id":"c"}', b'{"id":"long","n":1}', b"no"
    )
    assert [row.id for row in decoded(values, decoding, screen).collect()] == ["a"]
    found = reasons(undecoded(values, decoding, screen))
    assert found.pop(4).startswith("not JSON: ")
    assert found == {
        1: "the rule 'n is positive' is not met: n > 0",
        2: "the rule 'n is positive' is not met: n > 0",  # null is not true
        3: "the rule 'id is short' is not met: length(id) < 3 AND _key = 'k'",
    }
    with pytest.raises(
        Exception, match=r"cannot take events\[0\] offset \d: the rule 'n is positive' is not met"
    ):
        decoded(values, decoding, Screen(OnError.FAIL, screen.rules)).count()


def test_rules_of_values_that_are_not_decoded(spark: "SparkSession") -> None:
    screen = Screen(OnError.DROP, {"it is short": "length(value) < 3"})
    values = frame(spark, b"ab", b"abc", None)
    assert [row.value for row in decoded(values, load_decoding("string"), screen).collect()] == ["ab"]
    assert [bytes(row.value) for row in decoded(values, load_decoding("raw"), screen).collect()] == [b"ab"]
    assert list(reasons(undecoded(values, load_decoding("string"), screen))) == [1, 2]


def test_tombstones(spark: "SparkSession") -> None:
    decoding = load_decoding("json", schema="id STRING NOT NULL")
    values = frame(spark, b'{"id":"a"}', None, b"{}")
    rules = {"id is a": "id = 'a'"}
    kept = Screen(OnError.DROP, rules, Tombstones.KEEP)
    rows = decoded(values, decoding, kept).collect()
    assert [(row.id, row._key, row._deleted) for row in rows] == [("a", "k", False), (None, "k", True)]
    assert list(reasons(undecoded(values, decoding, kept))) == [2]
    dropped = Screen(OnError.DROP, rules, Tombstones.DROP)
    assert [row.id for row in decoded(values, decoding, dropped).collect()] == ["a"]
    assert list(reasons(undecoded(values, decoding, dropped))) == [2]

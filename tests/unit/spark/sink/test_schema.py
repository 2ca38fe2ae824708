"""DataFrames that can be written, and what is said of those that cannot."""

import pytest

from tidelog.spark.sink.schema import SchemaError, Shape, shape_of

HEADERS = "array<struct<key:string,value:binary>>"


def test_a_value_is_enough() -> None:
    assert shape_of({"value": "string"}, "t") == Shape("t", False, False, False)


def test_all_columns_of_sparks_own_sink() -> None:
    columns = {"key": "binary", "value": "binary", "topic": "string", "headers": HEADERS, "partition": "int"}
    assert shape_of(columns, None) == Shape(None, True, True, True)
    assert shape_of(columns, "t").topic == "t", "the option wins over the column"
    assert not shape_of(columns, "t", with_headers=False).has_headers


def test_other_columns_do_not_matter() -> None:
    assert shape_of({"value": "string", "count": "bigint"}, "t") == Shape("t", False, False, False)


def test_a_null_literal_is_as_no_column() -> None:
    columns = {"key": "void", "value": "void", "headers": "void", "partition": "void"}
    assert shape_of(columns, "t") == Shape("t", False, False, False)


@pytest.mark.parametrize(
    ("columns", "topic", "told"),
    [
        ({"key": "binary"}, "t", r"no column value among those to write \(key\)"),
        ({"value": "bigint"}, "t", "column value is of type bigint, and must be string or binary"),
        ({"value": "string", "key": "int"}, "t", "column key is of type int"),
        ({"value": "string", "partition": "bigint"}, "t", "column partition is of type bigint"),
        ({"value": "string", "headers": "map<string,binary>"}, "t", "column headers is of type map"),
        ({"value": "string", "topic": "binary"}, None, "column topic is of type binary"),
        ({"value": "string"}, None, "set the option topic, or add a column topic"),
    ],
)
def test_what_is_wrong_is_named(columns: dict[str, str], topic: str | None, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        shape_of(columns, topic)

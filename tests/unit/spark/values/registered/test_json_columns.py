"""JSON Schemas as the columns that Spark parses documents with."""

import json
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.spark.values.registered.fake_registry import OPTIONS, FakeRegistry
from tidelog.registry.schema import Dependency
from tidelog.spark.values.ddl import check_ddl
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.decoding import JsonHeaders
from tidelog.spark.values.registered.errors import IncompatibleSchema, SchemaChanged
from tidelog.spark.values.registered.json_columns import ddl_of
from tidelog.spark.values.registered.reader import SubjectChoice, fetch_reader

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


def schema(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, "definitions": {"N": INTEGER}})


@pytest.mark.parametrize(
    ("property", "ddl"),
    [
        (INTEGER, "BIGINT"),
        ({"type": "number"}, "DOUBLE"),
        ({"type": ["null", "boolean"]}, "BOOLEAN"),
        ({"type": ["integer", "number"]}, "DOUBLE"),
        ({"type": "string", "format": "date-time"}, "TIMESTAMP"),
        ({"type": "string", "format": "date"}, "DATE"),
        ({"type": "string", "format": "email"}, "STRING"),
        ({"enum": ["a", "b", None]}, "STRING"),
        ({"const": 7}, "BIGINT"),
        ({"oneOf": [{"type": "null"}, INTEGER]}, "BIGINT"),
        ({"anyOf": [TEXT, INTEGER]}, "STRING"),
        ({}, "STRING"),
        (True, "STRING"),
        ({"type": "array", "items": INTEGER}, "ARRAY<BIGINT>"),
        ({"type": "array"}, "ARRAY<STRING>"),
        ({"type": "object", "additionalProperties": INTEGER}, "MAP<STRING, BIGINT>"),
        ({"type": "object"}, "STRING"),
        ({"$ref": "#/definitions/N"}, "BIGINT"),
        ({"$ref": "other.json"}, "DOUBLE"),
        ({"$ref": "other.json#/definitions/Deep"}, "STRUCT<`a b`: DOUBLE>"),
        (
            {"allOf": [{"properties": {"a": TEXT}}, {"properties": {"b": INTEGER}}]},
            "STRUCT<`a`: STRING, `b`: BIGINT>",
        ),
    ],
)
def test_a_property_as_a_column(property: Any, ddl: str) -> None:
    other = {
        "type": "number",
        "definitions": {"Deep": {"type": "object", "properties": {"a b": {"$ref": "#"}}}},
    }
    found = ddl_of(schema(x=property), [Dependency("other.json", json.dumps(other))])
    assert found == f"`x` {ddl}"
    check_ddl(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no JSON", "the JSON Schema is not valid"),
        ('{"type": "array"}', "has to be an object with properties at its top"),
        ("true", "has to be an object with properties at its top"),
        (schema(x={"$ref": "#"}), "holds documents of its own kind without end"),
        (schema(x={"$ref": "gone.json"}), "refers to 'gone.json', which is not there"),
        ('{"$ref": "#"}', "references that lead to each other"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deep"),
    ],
)
def test_what_gives_no_columns(text: str, said: str) -> None:
    with pytest.raises(BadSchema, match=said):
        ddl_of(text)


def test_objects_that_each_hold_the_next_twice() -> None:
    parts: dict[str, Any] = {"P0": INTEGER}
    for number in range(40):
        inner = {"$ref": f"#/definitions/P{number}"}
        parts[f"P{number + 1}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    whole = {"type": "object", "properties": {"x": {"$ref": "#/definitions/P40"}}, "definitions": parts}
    with pytest.raises(BadSchema, match="more than 10,000 fields"):
        ddl_of(json.dumps(whole))


def reasons(headers: JsonHeaders, *values: bytes | None) -> list[str | None]:
    found: list[str | None] = headers.reasons(pa.array(values, pa.binary())).to_pylist()
    return found


def judge() -> JsonHeaders:
    return JsonHeaders(fetch_reader(SubjectChoice(OPTIONS, "orders-value"), "json"))


def test_headers_of_known_and_unknown_schemas(registry: FakeRegistry) -> None:
    first = registry.add("orders-value", schema(id=INTEGER), "JSON")
    second = registry.add("orders-value", schema(id=INTEGER, note=TEXT), "JSON")
    old, new = b"\0" + first.to_bytes(4), b"\0" + second.to_bytes(4)
    assert reasons(judge(), old, new, old, None, b'{"id"', b"\0\0\0\0\x63") == [
        None,
        None,
        None,
        None,
        "no schema registry header: a zero byte and a schema's number",
        "the schema registry has no schema 99",
    ]


def test_a_newer_version_and_one_with_another_type(registry: FakeRegistry) -> None:
    first = registry.add("orders-value", schema(id=INTEGER, at={"type": "array", "items": TEXT}), "JSON")
    before = judge()
    more = {"type": "array", "items": INTEGER}
    second = registry.add("orders-value", schema(id=INTEGER, at=more), "JSON")
    with pytest.raises(SchemaChanged):
        reasons(before, b"\0" + second.to_bytes(4))
    with pytest.raises(IncompatibleSchema, match="field at is BIGINT in the one and STRING in the other"):
        reasons(judge(), b"\0" + first.to_bytes(4))

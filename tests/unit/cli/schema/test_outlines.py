"""What changed between two schemas, field by field."""

import json

import pytest

from tidelog.cli.schema.diff import Side, change_text, compared
from tidelog.registry.schema import Schema, SchemaType


def changes(kind: SchemaType, old: str, new: str) -> list[str]:
    return [
        change_text(one) for one in compared(Side("old", Schema(kind, old)), Side("new", Schema(kind, new)))
    ]


def avro(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


def test_avro_fields_added_removed_and_changed() -> None:
    old = avro(
        {"name": "id", "type": "int"}, {"name": "gone", "type": "string"}, {"name": "same", "type": "int"}
    )
    new = avro(
        {"name": "id", "type": "long", "doc": "the number"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "same", "type": "int"},
    )
    assert changes(SchemaType.AVRO, old, new) == [
        "~ id: type int -> long, doc (none) -> the number",
        "+ note: null or string, default null",
        "- gone: string",
    ]


def test_avro_inside_of_arrays_unions_and_other_names() -> None:
    def nested(*zip_fields: object) -> str:
        inner = {"type": "record", "name": "Line", "fields": list(zip_fields)}
        return avro({"name": "lines", "type": ["null", {"type": "array", "items": inner}]})

    old = nested({"name": "color", "type": {"type": "enum", "name": "C", "symbols": ["A"]}})
    new = nested(
        {"name": "color", "type": {"type": "enum", "name": "C", "symbols": ["A", "B"]}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    )
    assert changes(SchemaType.AVRO, old, new) == [
        "~ lines.color: type enum C: A -> enum C: A, B",
        "+ lines.price: bytes (decimal 9, 2)",
    ]


def test_avro_renamed_by_an_alias() -> None:
    old, new = avro({"name": "a", "type": "int"}), avro({"name": "b", "type": "int", "aliases": ["a"]})
    assert changes(SchemaType.AVRO, old, new) == ["~ b: renamed from a, aliases (none) -> a"]


def test_json_properties() -> None:
    old = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["b"],
    }
    new = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "maxLength": 5},
            "b": {"type": "integer"},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"$ref": "#/x"}}}},
        },
        "required": ["c"],
        "additionalProperties": False,
    }
    assert changes(SchemaType.JSON, json.dumps(old), json.dumps(new)) == [
        "~ (schema): additionalProperties (none) -> false",
        "~ a: type string -> string or null, maxLength (none) -> 5",
        "~ b: required yes -> (none)",
        "+ c: array, required",
        "+ c[]: object",
        "+ c[].d: #/x",
    ]


def test_protobuf_fields_with_their_numbers() -> None:
    old = """syntax = "proto3"; message Order {
        int32 id = 1; string old_name = 2; repeated string tags = 3; oneof how { int32 cash = 4; } }
        enum Color { RED = 0; }"""
    new = """syntax = "proto3"; message Order {
        reserved 3; int64 id = 1; string new_name = 2; oneof how { int32 cash = 4; string card = 5; }
        map<string, int32> counts = 6; optional bool paid = 7; }
        enum Color { RED = 0; BLUE = 1; }"""
    assert changes(SchemaType.PROTOBUF, old, new) == [
        "~ Order: reserved (none) -> 3",
        "~ Order.id: type int32 -> int64",
        "~ Order.new_name: renamed from Order.old_name",
        "+ Order.card: string, number 5, oneof how",
        "+ Order.counts: map<string, int32>, number 6",
        "+ Order.paid: optional bool, number 7",
        "+ Color.BLUE: value, number 1",
        "- Order.tags: repeated string, number 3",
    ]


@pytest.mark.parametrize("kind", list(SchemaType))
def test_what_cannot_be_read_is_an_error_for_people(kind: SchemaType) -> None:
    from tidelog.cli.exits import CliError

    with pytest.raises(CliError, match=f"old cannot be read as {kind.value}"):
        changes(kind, "{" * 10, "{}")
    with pytest.raises(CliError):
        changes(kind, "[" * 100_000, "{}")

"""Defaults of fields: of a new schema they are values of the fields' types; a stored one may be older."""

import json

import pytest

from tidelog.registry.avro.parsing import check_new, parse
from tidelog.registry.parsed import SchemaError

POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "int", "default": 3}, {"name": "y", "type": "string"}],
}


def schema(type_, default):
    fields = [{"name": "a", "type": type_, "default": default}]
    return parse(json.dumps({"type": "record", "name": "R", "fields": fields}))


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("null", None),
        ("boolean", False),
        ("int", 2**31 - 1),
        ("long", -(2**63)),
        ("double", 1),
        ("float", 1.5),
        ("string", ""),
        ("bytes", "\u00ff"),
        (["int", "null"], None),
        (["null", "int"], 3),
        ({"type": "array", "items": "int"}, [1, 2]),
        ({"type": "map", "values": ["null", "int"]}, {"a": None, "b": 1}),
        (POINT, {"y": "q"}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "not a symbol, and Java does not look"),
    ],
)
def test_values_of_the_type(type_, default):
    check_new(schema(type_, default))


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("null", 0),
        ("boolean", 1),
        ("int", 2**31),
        ("int", 1.0),
        ("int", True),
        ("int", "x"),
        ("int", None),
        ("long", 2**63),
        ("float", True),
        ("string", 1),
        (["null", "int"], "x"),
        ([], None),
        ({"type": "array", "items": "int"}, [1, "2"]),
        ({"type": "array", "items": "int"}, {}),
        ({"type": "map", "values": "int"}, {"a": "b"}),
        ({"type": "map", "values": "int"}, []),
        (POINT, {}),
        (POINT, []),
        (POINT, {"x": "a", "y": "b"}),
    ],
)
def test_other_values(type_, default):
    stored = schema(type_, default)
    with pytest.raises(SchemaError, match='Invalid default for the field "a"'):
        check_new(stored)


def test_a_default_that_contains_itself_without_end():
    check_new(schema("R", {}))  # the record that the default leaves out has the same default


def test_answers_are_remembered():
    def level(number):
        if number == 0:
            return {"type": "record", "name": "L0", "fields": []}
        both = [
            {"name": "a", "type": level(number - 1), "default": {}},
            {"name": "b", "type": f"L{number - 1}"},
        ]
        return {"type": "record", "name": f"L{number}", "fields": [both[0], both[1] | {"default": {}}]}

    check_new(parse(json.dumps(level(60))))  # 2**60 steps otherwise

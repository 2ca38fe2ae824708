"""Normalized texts: equal for schemas that differ in order alone."""

import json

import pytest

from tidelog.registry.avro.parsing import parse
from tidelog.registry.schema import Dependency


def normalized(text):
    return parse(text).normalized().text


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (
            '{"type":"string","z":{"b":1,"a":[{"d":1,"c":2}]},"a":1}',
            '{"type":"string","a":1,"z":{"a":[{"c":2,"d":1}],"b":1}}',
        ),
        (
            '{"type":"bytes","a":1,"scale":2,"precision":4,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"a":1}',
        ),
        (
            '{"type":"bytes","scale":0,"a":1,"precision":4,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":4,"a":1,"scale":0}',
        ),
        (
            '{"type":"int","a":1,"logicalType":"decimal","precision":4}',
            '{"type":"int","a":1,"logicalType":"decimal","precision":4}',
        ),
        (
            '{"type":"fixed","name":"F","size":1,"b":1,"logicalType":"decimal","precision":9,"doc":""}',
            '{"type":"fixed","name":"F","size":1,"b":1,"logicalType":"decimal","precision":9}',
        ),
        (
            '{"type":"enum","name":"n.E","doc":"","symbols":["B","A"],"aliases":["z","o.a","b"]}',
            '{"type":"enum","name":"E","namespace":"n","symbols":["B","A"],"aliases":["b","z","o.a"]}',
        ),
        ('{"type":"error","name":"R","fields":[]}', '{"type":"record","name":"R","fields":[]}'),
    ],
)
def test_attributes(text, normal):
    assert normalized(text) == normal
    assert normalized(normal) == normal


@pytest.mark.parametrize(
    ("type_", "default", "normal"),
    [
        ("double", 1, 1.0),
        ("float", 1, 1.0),
        ("float", 3.14159265358979, 3.1415927),
        ("float", 0.1, 0.1),
        ("double", 10**400, 10**400),
        ("long", 5, 5),
        ({"type": "map", "values": "double"}, {"b": 1, "a": 2}, {"a": 2.0, "b": 1.0}),
        ({"type": "array", "items": "float"}, [1, 2], [1.0, 2.0]),
        (["double", "null"], 1, 1.0),
        (["null", "double"], 1, 1),
        (
            {"type": "record", "name": "I", "fields": [{"name": "x", "type": "double"}]},
            {"x": 1, "other": 2},
            {"other": 2, "x": 1.0},
        ),
        ("boolean", True, True),
        ("bytes", "\u00ff", "\u00ff"),
    ],
)
def test_defaults(type_, default, normal):
    text = json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": type_, "default": default}]}
    )
    found = json.loads(normalized(text))["fields"][0]["default"]
    assert json.dumps(found) == json.dumps(normal)


def test_docs_and_aliases_of_fields():
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"","aliases":["z","b"]}]}'
    assert normalized(text) == (
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"","aliases":["b","z"]}]}'
    )


def test_references_stay_names():
    schema = parse('["null","A"]', [Dependency("A", '{"type":"record","name":"A","fields":[]}')])
    assert schema.normalized().text == '["null","A"]'
    assert "fields" in schema.normalized().formatted("resolved")

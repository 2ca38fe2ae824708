"""What is an Avro schema, and what is none: the same as for Java's parser."""

import json

import pytest

from tidelog.registry.avro.parsing import parse
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependency


def record(*fields, name="R", **attributes):
    return json.dumps({"type": "record", "name": name, "fields": list(fields), **attributes})


def field(name, type_, **attributes):
    return {"name": name, "type": type_, **attributes}


def inner(name, *fields):
    return {"type": "record", "name": name, "fields": list(fields)}


@pytest.mark.parametrize(
    "text",
    [
        '"string"',
        '["null", "string"]',
        "[]",
        '{"type": "array", "items": {"type": "map", "values": "long"}}',
        '/* as Java */ {"type": "string" // allows\n}',
        record(field("self", ["null", "R"])),
        record(field("later", "Later"), field("now", inner("Later"))),
        record(field("e", {"type": "enum", "name": "E", "symbols": [], "namespace": "other"})),
        record(field("naïve_2", "int")),
        record(field("twice", inner("I")), field("the_same", inner("I"))),
        record(field("a", {"type": "int", "logicalType": "unheard-of"})),
        record(field("a", {"type": "bytes", "logicalType": "decimal", "precision": 1, "scale": 2})),
        record(namespace="with-a-dash.in-it"),
        '{"type": "enum", "name": "E", "symbols": ["A"], "default": 3}',
    ],
)
def test_schemas(text):
    assert parse(text).text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is an empty text"),
        (" \n", "is an empty text"),
        ("{", "is no JSON"),
        ("string", "is no JSON"),
        ('"string" "int"', "is no JSON"),
        ('{"type": "string", "x": NaN}', "is no JSON"),
        ("5", "A type is a name"),
        ("null", "A type is a name"),
        ('"nothing"', '"nothing" is not defined'),
        ("{}", 'no name of a type as its "type"'),
        ('{"type": ["null"]}', 'no name of a type as its "type"'),
        ('{"type": "array"}', "items"),
        ('{"type": "map"}', "values"),
        ('["null", ["null"]]', "within a union"),
        ('["int", {"type": "int", "logicalType": "date"}]', '"int" twice'),
        ('{"type": "record", "fields": []}', "has no name"),
        ('{"type": "record", "name": "R"}', 'no list of "fields"'),
        (record(5), "has no name"),
        (record({"type": "int"}), "has no name"),
        (record({"name": "a"}), 'field "a" of the record "R" has no type'),
        (record(field("a", "int"), field("a", "int")), 'two fields with the name "a"'),
        (record(field("a-b", "int")), "illegal character"),
        (record(field("1a", "int")), "begins with an illegal character"),
        (record(field("", "int")), "name is empty"),
        (record(field("a", "int", order="sideways")), "order"),
        (record(field("a", "int", aliases="b")), "aliases"),
        (record(field("a", "int", aliases=[1])), "aliases"),
        (record(name="int"), "a type of Avro itself"),
        (record(field("a", "T"), namespace="n"), '"n.T" is not defined'),
        (record(field("a", inner("I")), field("b", inner("I", field("x", "int")))), "twice, and differently"),
        ('{"type": "enum", "name": "E", "symbols": "A"}', "symbols"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', '"A" twice'),
        ('{"type": "enum", "name": "E", "symbols": ["1"]}', "begins with an illegal character"),
        ('{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}', "none of its symbols"),
        ('{"type": "fixed", "name": "F", "size": -1}', "size"),
        ('{"type": "fixed", "name": "F", "size": "4"}', "size"),
        ('{"type": "fixed", "name": "F", "size": true}', "size"),
        ('{"type": "string", "half": "\\ud800"}', "surrogate"),
        (record(field("a", "double", default="much")), "is no number"),
    ],
)
def test_not_a_schema(text, reason):
    with pytest.raises(SchemaError, match=reason):
        parse(text)


def test_a_name_is_looked_for_in_the_namespace_first_then_without_one():
    text = record(
        field("a", {"type": "enum", "name": "E", "symbols": ["IN"]}),
        field("b", {"type": "enum", "name": "E", "namespace": "", "symbols": ["OUT"]}),
        field("c", "E"),
        namespace="n",
    )
    root = parse(text).root
    assert root.fields[2].type is root.fields[0].type


def test_dependencies_are_known_by_their_names():
    dependency = Dependency(
        "any", record(field("x", {"type": "enum", "name": "I", "symbols": ["A"]}), name="n.D")
    )
    schema = parse(record(field("d", "n.D"), field("i", "n.I")), [dependency])
    assert schema.root.fields[1].type.symbols == ["A"]


def test_a_dependency_of_a_dependency():
    first = Dependency("a", record(name="A"))
    second = Dependency("b", record(field("a", "A"), name="B"))
    assert parse(record(field("b", "B")), [first, second]).root.fields[0].type.fields[0].type.name.full == "A"

"""Can a reader read what a writer wrote? The facts of Java's and Confluent's own tests, and paths."""

# ruff: noqa: E501

import json

import pytest

from tidelog.registry.avro.parsing import parse

P = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTED = {
    ("long", "int"),
    *(("float", writer) for writer in ("int", "long")),
    *(("double", writer) for writer in ("int", "long", "float")),
    ("bytes", "string"),
    ("string", "bytes"),
}


def record(*fields, name="R", **attributes):
    return {"type": "record", "name": name, "fields": list(fields), **attributes}


def field(name, type_, **attributes):
    return {"name": name, "type": type_, **attributes}


def enum(*symbols, name="E", **attributes):
    return {"type": "enum", "name": name, "symbols": list(symbols), **attributes}


def fixed(size, name="F", **attributes):
    return {"type": "fixed", "name": name, "size": size, **attributes}


def array(items):
    return {"type": "array", "items": items}


def map_of(values):
    return {"type": "map", "values": values}


def hindrances(reader, writer):
    """Kind, path and message of each, as Java gives them."""
    found = parse(json.dumps(reader)).incompatibilities(parse(json.dumps(writer)))
    return [(one.kind, one.description.partition("path '")[2].partition("'")[0], one.info) for one in found]


@pytest.mark.parametrize("writer", P)
@pytest.mark.parametrize("reader", P)
def test_primitives_are_promoted(reader, writer):
    expected = [] if reader == writer or (reader, writer) in PROMOTED else ["TYPE_MISMATCH"]
    assert [kind for kind, _, _ in hindrances(reader, writer)] == expected


LIST = record(field("head", "int"), field("tail", array("R")))
LONG_LIST = record(field("head", "long"), field("tail", array("R")))


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (array("long"), array("int")),
        (map_of("long"), map_of("int")),
        (enum("A", "B"), enum("A")),
        (enum("B", "A"), enum("A", "B")),
        (enum("A", default="A"), enum("A", "C")),
        (enum("A", name="New", aliases=["E"]), enum("A")),
        (fixed(4, name="New", aliases=["F"]), fixed(4)),
        (fixed(4, name="n.New", aliases=["o.F"]), fixed(4, name="o.F")),
        (fixed(4, name="n.F"), fixed(4, name="o.F")),
        (enum("A", name="n.E"), enum("A")),
        (record(name="n.R"), record(name="o.R")),
        (["null", record(name="n.R")], ["null", record(name="o.R")]),
        (["null", record(name="n.New", aliases=["o.R"])], record(name="o.R")),
        ([record(field("a", "int"), name="n.R"), record(name="m.R")], record(name="o.R")),
        ([], []),
        (["int"], ["int"]),
        (["int", "string"], ["string", "int"]),
        (["int", "string"], "int"),
        (["long"], "int"),
        (["double"], ["int", "long", "float"]),
        ("long", ["int", "long"]),
        (["null", record(field("a", "int"))], record(field("a", "int"))),
        (record(), record(field("a", "int"))),
        (record(field("a", "int")), record(field("a", "int"), field("b", "int"))),
        (record(field("a", "int", default=0)), record()),
        (record(field("a", ["null", "int"], default=None)), record()),
        (record(field("new", "int", aliases=["old"])), record(field("old", "int"))),
        (record(name="New", aliases=["R"]), record()),
        (record(name="n.New", aliases=["R"]), record(name="n.R")),
        (LIST, LIST),
        (LONG_LIST, LIST),
    ],
)
def test_readable(reader, writer):
    assert hindrances(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (
            array("int"),
            array("long"),
            ("TYPE_MISMATCH", "/items", "reader type: INT not compatible with writer type: LONG"),
        ),
        (
            map_of("int"),
            map_of("string"),
            ("TYPE_MISMATCH", "/values", "reader type: INT not compatible with writer type: STRING"),
        ),
        (array("int"), map_of("int"), ("TYPE_MISMATCH", "/", "reader type: ARRAY not compatible with writer type: MAP")),
        (record(), enum("A"), ("TYPE_MISMATCH", "/", "reader type: RECORD not compatible with writer type: ENUM")),
        (enum("A"), enum("A", "C", "B"), ("MISSING_ENUM_SYMBOLS", "/symbols", "[B, C]")),
        (enum("A", name="X"), enum("A"), ("NAME_MISMATCH", "/name", "expected: E")),
        (fixed(8), fixed(4), ("FIXED_SIZE_MISMATCH", "/size", "expected: 4, found: 8")),
        (fixed(4, name="n.G"), fixed(4, name="m.F"), ("NAME_MISMATCH", "/name", "expected: m.F")),
        (fixed(4, name="n.G", aliases=["F"]), fixed(4, name="m.F"), ("NAME_MISMATCH", "/name", "expected: m.F")),
        (record(name="X"), record(), ("NAME_MISMATCH", "/name", "expected: R")),
        (record(field("a", "int")), record(), ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0", "a")),
        (
            record(field("x", "int"), field("a", enum("A", default="A"))),
            record(field("x", "int")),
            ("TYPE_MISMATCH", "/fields/1/type", "reader type: ENUM not compatible with writer type: RECORD"),
        ),
        (["int"], ["int", "string"], ("MISSING_UNION_BRANCH", "/1", "reader union lacking writer type: STRING")),
        (["int"], "string", ("MISSING_UNION_BRANCH", "/", "reader union lacking writer type: STRING")),
        ([], ["string"], ("MISSING_UNION_BRANCH", "/0", "reader union lacking writer type: STRING")),
        ("int", ["int", "string"], ("TYPE_MISMATCH", "/1", "reader type: INT not compatible with writer type: STRING")),
        (
            record(field("u", ["null", record(field("a", "int"), name="I")])),
            record(field("u", ["null", record(name="I")])),
            ("MISSING_UNION_BRANCH", "/fields/0/type/1", "reader union lacking writer type: RECORD"),
        ),
        (
            record(field("a", array(map_of(record(field("b", "int"), name="I"))))),
            record(field("a", array(map_of(record(field("b", "string"), name="I"))))),
            (
                "TYPE_MISMATCH",
                "/fields/0/type/items/values/fields/0/type",
                "reader type: INT not compatible with writer type: STRING",
            ),
        ),
        (LIST, LONG_LIST, ("TYPE_MISMATCH", "/fields/0/type", "reader type: INT not compatible with writer type: LONG")),
    ],
)  # fmt: skip
def test_not_readable(reader, writer, expected):
    assert hindrances(reader, writer) == [expected]


def test_all_that_hinders_is_named():
    reader = record(field("a", "int"), field("b", "string"), field("c", fixed(4)), name="New")
    writer = record(field("b", "int"), field("c", fixed(8, name="G")))
    assert [(kind, path) for kind, path, _ in hindrances(reader, writer)] == [
        ("NAME_MISMATCH", "/name"),
        ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0"),
        ("TYPE_MISMATCH", "/fields/1/type"),
        ("NAME_MISMATCH", "/fields/2/type/name"),
        ("FIXED_SIZE_MISMATCH", "/fields/2/type/size"),
    ]


def test_a_field_that_matches_two_of_the_writer():
    reader = record(field("a", "int", aliases=["b"]))
    writer = record(field("a", "int"), field("b", "int"))
    (found,) = parse(json.dumps(reader)).incompatibilities(parse(json.dumps(writer)))
    assert "field a matches multiple fields" in found.description
    assert "remove an alias" in found.description


F1 = record(field("f1", "string"))
F2 = record(field("f1", "string"), field("f2", "string", default="foo"))
F2_WITHOUT_DEFAULT = record(field("f1", "string"), field("f2", "string"))
F1_RENAMED = record(field("f1_new", "string", aliases=["f1"]))
F1_NULLABLE = record(field("f1", ["null", "string"]))
F1_WIDER = record(field("f1", ["null", "string", "int"]))


@pytest.mark.parametrize(
    ("new", "old", "is_backward", "is_forward"),
    [
        (F2, F1, True, True),
        (F2_WITHOUT_DEFAULT, F1, False, True),
        (F2_WITHOUT_DEFAULT, F2, True, True),
        (F1, F2_WITHOUT_DEFAULT, True, False),
        (F1_RENAMED, F1, True, False),
        (F1_NULLABLE, F1, True, False),
        (F1, F1_NULLABLE, False, True),
        (F1_WIDER, F1_NULLABLE, True, False),
        (F1_NULLABLE, F1_WIDER, False, True),
    ],
)
def test_changes_that_the_documentation_names(new, old, is_backward, is_forward):
    assert (not hindrances(new, old)) is is_backward
    assert (not hindrances(old, new)) is is_forward


@pytest.mark.parametrize(
    ("reader", "writer", "sentence"),
    [
        (F2_WITHOUT_DEFAULT, F1, "The field 'f2' at path '/fields/1' in the {reader} schema has no default value and is missing in the {writer} schema"),
        ("int", "string", "The type (path '/') of a field in the {reader} schema does not match with the {writer} schema"),
        (fixed(1), fixed(2), "The size of FIXED type field at path '/size' in the {reader} schema does not match with the {writer} schema"),
        (enum("A"), enum("B"), "The {reader} schema is missing enum symbols '[B]' at path '/symbols' in the {writer} schema"),
        (["int"], "null", "The {reader} schema is missing a type inside a union field at path '/' in the {writer} schema"),
        (record(name="N"), record(), "The name of the schema has changed (path '/name')"),
    ],
)  # fmt: skip
def test_sentences_are_those_of_confluent(reader, writer, sentence):
    (found,) = parse(json.dumps(reader)).incompatibilities(parse(json.dumps(writer)))
    assert found.description == sentence

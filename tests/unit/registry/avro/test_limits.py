"""Texts that are made to be expensive: an answer in bounded time and memory, or a sentence."""

import json

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.registry.avro import limits
from tidelog.registry.avro.comparing import differences
from tidelog.registry.avro.limits import ALIASES_CHARS_MAX, DIFFERENCES_MAX, MESSAGE_CHARS_MAX, NESTING_MAX
from tidelog.registry.avro.parsing import parse
from tidelog.registry.parsed import SchemaError


def record(name, *types):
    fields = [{"name": f"f{index}", "type": type_} for index, type_ in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def nested(levels):
    return '{"type":"array","items":' * (levels - 1) + '"int"' + "}" * (levels - 1)


def test_nesting_within_the_limit():
    schema = parse(nested(NESTING_MAX))
    assert schema.normalized().text == schema.formatted("resolved") == nested(NESTING_MAX)
    assert schema.incompatibilities(schema) == []


def test_records_within_the_limit():
    type_ = "int"
    for level in range(NESTING_MAX - 1):
        type_ = record(f"R{level}", type_)
    schema = parse(json.dumps(type_))
    assert schema.incompatibilities(schema.normalized()) == []


@pytest.mark.parametrize(
    "text",
    [
        nested(NESTING_MAX + 1),
        nested(100_000),
        "[" * 1_000_000,
        '{"type":"string","x":' * 100_000,
        '{"type":"string","x":' + "[" * 900 + "]" * 900 + "}",
        '{"a":' * 3_000_000,
    ],
)
def test_nesting_beyond_it(text):
    with pytest.raises(SchemaError, match=r"nested|no JSON"):
        parse(text)


def test_definitions_that_nest_once_they_are_written_out():
    """Each refers to the next, which comes later in the text."""
    chain = [record(f"R{number}", f"R{number + 1}") for number in range(500)]
    with pytest.raises(SchemaError, match="nested"):
        parse(json.dumps([*chain, record("R500")]))


def test_a_long_chain_of_names():
    """No text is nested, but each record contains the one before: the comparison goes down all of them."""
    chain = [record("R0", "int"), *(record(f"R{number}", f"R{number - 1}") for number in range(1, 5_000))]
    schema = parse(json.dumps(chain))
    root, old = (
        schema.root.branches[-1],
        parse(json.dumps(chain).replace('"int"', '"string"')).root.branches[-1],
    )
    (found,) = differences(root, old)
    assert found.kind == "TYPE_MISMATCH"
    assert found.path.startswith("/.../fields/0/type/")
    assert len(found.path) < 10_000


def test_the_same_difference_in_ever_more_places():
    def levels(type_):
        chain = [record("R0", type_, type_)]
        return json.dumps([*chain, *(record(f"R{n}", f"R{n - 1}", f"R{n - 1}") for n in range(1, 60))])

    reader, writer = parse(levels("int")), parse(levels("string"))
    assert len(differences(reader.root.branches[-1], writer.root.branches[-1])) == DIFFERENCES_MAX


def test_unions_of_many_records_meet_by_name():
    union = json.dumps([record(f"R{number}", "int") for number in range(300)])
    schema = parse(union)
    assert schema.incompatibilities(schema) == []


def test_a_comparison_of_too_many_pairs(monkeypatch):
    monkeypatch.setattr(limits, "STEPS_MAX", 1_000)
    union = json.dumps([{"type": "array", "items": "int"}, *(record(f"R{n}", "int") for n in range(1_000))])
    schema = parse(union)
    with pytest.raises(SchemaError, match="comparison of both schemas takes more than 1,000 steps"):
        schema.incompatibilities(schema)


def test_numbers_of_many_digits():
    with pytest.raises(SchemaError, match="no JSON"):
        parse('{"type":"string","x":' + "9" * 10_000 + "}")


@pytest.mark.parametrize(
    "text", ["/*" * 2_000_000, '"' + "\\a" * 2_000_000, "//" * 2_000_000, '"' * 2_000_001]
)
def test_comments_are_looked_for_once(text):
    with pytest.raises(SchemaError, match="no JSON"):
        parse(text)


def enums_of(*symbols):
    """One enum in 500 fields."""
    return parse(json.dumps(record("R", {"type": "enum", "name": "E", "symbols": symbols}, *["E"] * 499)))


def test_missing_symbols_are_named_as_far_as_they_fit():
    reader, writer = enums_of("a"), enums_of("a", *(f"{'s' * 90}{number}" for number in range(2000)))
    found = []
    assert peak_bytes(lambda: found.extend(reader.incompatibilities(writer))) < 4 << 20
    assert len(found) == DIFFERENCES_MAX
    assert found[0].info.startswith("[sss")
    assert found[0].info.endswith("...]")
    assert len(found[0].info) < MESSAGE_CHARS_MAX + 10
    (few,) = parse('{"type":"enum","name":"E","symbols":["a"]}').incompatibilities(
        parse('{"type":"enum","name":"E","symbols":["c","a","b"]}')
    )
    assert few.info == "[b, c]"


@pytest.mark.parametrize("aliases", [[], ["x" * 100_000, "y" * 100_000]])
def test_long_names_of_fields_are_named_as_far_as_they_fit(aliases):
    """Of a record in many places: without a default, or with two fields of the writer for one."""

    def schema(fields):
        return parse(json.dumps(record("R", {"type": "record", "name": "Q", "fields": fields}, *["Q"] * 100)))

    long = {"name": "x" * 100_000, "type": "int"}
    reader = schema([{**long, "aliases": aliases}])
    writer = schema([{"name": name, "type": "int"} for name in aliases])
    found = []
    assert peak_bytes(lambda: found.extend(reader.incompatibilities(writer))) < 2 << 20
    assert all(len(one.description) < 2 * MESSAGE_CHARS_MAX for one in found)
    assert len(found) == 101


def test_aliases_in_a_long_namespace():
    def schema(aliases):
        names = [f"a{number}" for number in range(aliases)]
        return parse(json.dumps({**record("R"), "namespace": "n" * 900, "aliases": names}))

    few = schema(ALIASES_CHARS_MAX // 1000)
    assert peak_bytes(few.normalized) < 10 << 20
    with pytest.raises(SchemaError, match="aliases of the type"):
        schema(ALIASES_CHARS_MAX // 900)

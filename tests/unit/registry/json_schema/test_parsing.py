"""Schemas that are parsed and given back, references between them, and texts that are no schemas."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tidelog.registry.json_schema.parsing import parse
from tidelog.registry.parsed import SchemaError
from tidelog.registry.parsed import parse as parse_any
from tidelog.registry.schema import Dependency, SchemaType

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
ADDRESS = Dependency("address.json", '{"type": "object", "properties": {"zip": {"type": "string"}}}')


def test_the_text_is_kept_without_spaces_and_in_its_order() -> None:
    schema = parse_any(SchemaType.JSON, '{ "type": "object", "a": 1.0 }')
    assert schema.type is SchemaType.JSON
    assert schema.text == '{"type":"object","a":1.0}'
    assert schema.formatted("resolved") == schema.text
    assert parse_any(SchemaType.JSON, schema.text).text == schema.text


def test_texts_that_differ_in_order_are_one_when_normalized() -> None:
    one = parse('{"type":"object","properties":{"b":true,"a":{"minimum":1,"type":"number"}}}')
    other = parse('{"properties":{"a":{"type":"number","minimum":1},"b":true},"type":"object"}')
    assert one.text != other.text
    assert one.normalized().text == other.normalized().text
    assert one.normalized().normalized().text == one.normalized().text
    assert one.normalized().incompatibilities(other) == []


@pytest.mark.parametrize(
    "text", ["true", "false", "{}", '{"unknown": {"type": 3}}', '{"enum": []}', '{"required": []}']
)
def test_what_confluent_takes_is_taken(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('"string"', "object, true or false"),
        ("[]", "object, true or false"),
        ("null", "object, true or false"),
        ({"type": "str"}, "'type' at '#'"),
        ({"type": []}, "'type' at '#'"),
        ({"properties": {"a": {"type": ["string", 1]}}}, "'type' at '#/properties/a'"),
        ({"properties": []}, "'properties' at '#'"),
        ({"properties": {"a": 1}}, "an object of schemas"),
        ({"required": True}, "array of strings"),
        ({"items": "string"}, "schema or an array"),
        ({"oneOf": []}, "at least one schema"),
        ({"allOf": [{"minLength": -1}]}, "'minLength' at '#/allOf/0'"),
        ({"minLength": 1.5}, "whole number"),
        ({"maximum": "5"}, "a number"),
        ({"maximum": True}, "a number"),
        ({"exclusiveMinimum": True}, "a number"),
        ({"$schema": DRAFT_4, "exclusiveMinimum": 5}, "true or false"),
        ({"multipleOf": 0}, "above 0"),
        ({"uniqueItems": 1}, "true or false"),
        ({"dependencies": {"a": [1]}}, "arrays of names"),
        ({"definitions": {"a": {"not": []}}}, "'not' at '#/definitions/a'"),
        ({"$ref": 5}, "a string"),
        ({"enum": {"a": 1}}, "an array"),
        ({"$ref": "#/elsewhere/a", "elsewhere": {"a": {"type": "nonsense"}}}, "'type' at '#/elsewhere/a'"),
        ({"title": ["x" * 1000]}, r"and is \['x+\.\.\."),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        parse(schema if isinstance(schema, str) else json.dumps(schema))


@pytest.mark.parametrize(
    "reference",
    [
        "#/definitions/missing",
        "#missing",
        "other.json",
        "other.json#/definitions/x",
        "http://example.com/schema.json",
        "file:///etc/passwd",
        "address.json#/properties/nothing",
        "#/title",
        "#/list/7",
        "http://[bad",
        "\x00",
    ],
)
def test_references_that_lead_nowhere_are_refused_and_nothing_is_fetched(reference: str) -> None:
    with pytest.raises(SchemaError, match=r"(not known|no schema)"):
        parse(json.dumps({"properties": {"a": {"$ref": reference}}, "title": "x", "list": [{}]}), [ADDRESS])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {
            "$ref": "#/definitions/a",
            "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
        },
        {"$schema": DRAFT_2020, "$ref": "#", "title": "x"},
    ],
)
def test_references_that_lead_to_themselves_are_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="leads back to itself"):
        parse(json.dumps(schema))


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({}, "address.json"),
        ({}, "./address.json"),
        ({}, "address.json#"),
        ({}, "address.json#/properties/zip"),
        ({"$id": "http://example.com/schemas/person.json"}, "address.json"),
        ({"$id": "http://example.com/schemas/person.json"}, "http://example.com/schemas/address.json"),
        ({"$id": "urn:example:person"}, "address.json"),
        ({"$id": "urn:example:person", "definitions": {"a": {"type": "string"}}}, "#/definitions/a"),
        ({"$id": "person.json", "definitions": {"a": {}}}, "person.json#/definitions/a"),
        ({"definitions": {"a/b~c d": {}}}, "#/definitions/a~1b~0c%20d"),
        ({"definitions": {"a": {"$id": "#here"}}}, "#here"),
        (
            {"definitions": {"a": {"$id": "inner.json", "definitions": {"b": {}}}}},
            "inner.json#/definitions/b",
        ),
        ({"allOf": [True, {"type": "string"}]}, "#/allOf/1"),
        ({"$schema": DRAFT_4, "id": "person.json", "definitions": {"a": {}}}, "person.json#/definitions/a"),
        ({"$schema": DRAFT_2020, "$defs": {"a": {"$anchor": "here"}}}, "#here"),
    ],
)
def test_references_are_resolved(schema: Any, reference: str) -> None:
    parse(json.dumps({**schema, "properties": {"a": {"$ref": reference}}}), [ADDRESS])


def test_references_inside_dependencies_are_resolved() -> None:
    street = Dependency("dir/street.json", '{"type": "string"}')
    address = Dependency("dir/address.json", '{"properties": {"street": {"$ref": "street.json"}}}')
    parse('{"$ref": "dir/address.json"}', [street, address])
    with pytest.raises(SchemaError, match=r"street\.json"):
        parse('{"$ref": "dir/address.json"}', [address])


def test_a_dependency_that_is_no_json_is_named() -> None:
    with pytest.raises(SchemaError, match=r"referenced schema 'address\.json'"):
        parse("{}", [Dependency("address.json", "{")])


def test_a_change_in_a_dependency_is_a_change() -> None:
    changed = ADDRESS._replace(text=ADDRESS.text.replace("string", "number"))
    text = '{"properties": {"address": {"$ref": "address.json"}}}'
    (found,) = parse(text, [changed]).incompatibilities(parse(text, [ADDRESS]))
    assert found.kind == "TYPE_CHANGED"
    assert "'#/properties/address/properties/zip'" in found.description


def test_recursive_references_of_every_draft_are_parsed() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    for draft in (None, DRAFT_4, DRAFT_2019, DRAFT_2020):
        schema = parse(json.dumps({**tree, **({"$schema": draft} if draft else {})}))
        assert schema.incompatibilities(schema) == []
    parse(json.dumps({"$schema": DRAFT_2019, "items": {"$recursiveRef": "#"}}))
    parse(json.dumps({"$schema": DRAFT_2020, "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}))


def test_no_library_is_imported_for_a_schema() -> None:
    script = """
import sys
from tidelog.registry.json_schema.parsing import parse
parse('{"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}')
print(*sorted(sys.modules.keys() & {"jsonschema", "referencing", "rpds", "asyncio", "requests"}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

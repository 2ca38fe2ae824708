"""Confluent's rules of compatibility, kind by kind: what changes, how it is named, and where.

A row is the schema that wrote, the schema that reads, and the differences. A name after `-` is incompatible.
"""

import json
from typing import Any

import pytest

from tidelog.registry.json_schema.comparing.comparison import compare
from tidelog.registry.json_schema.comparing.differences import INCOMPATIBLE, LENIENT
from tidelog.registry.json_schema.parsing import JsonSchema, parse
from tidelog.registry.parsed import READER, WRITER, Policy

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
S, N, INT, B = ({"type": name} for name in ("string", "number", "integer", "boolean"))

Row = tuple[Any, Any, str]

NOTES: list[Row] = [
    ({"$id": "a"}, {"$id": "b"}, "+ID_CHANGED #/"),
    ({"title": "a"}, {"title": "b"}, "+TITLE_CHANGED #/"),
    ({"description": "a"}, {}, "+DESCRIPTION_CHANGED #/"),
    ({"default": 1}, {"default": True}, "+DEFAULT_CHANGED #/"),
    ({"default": {"a": 1, "b": 2}}, {"default": {"b": 2, "a": 1}}, ""),
]
TYPES: list[Row] = [
    (S, N, "-TYPE_CHANGED #/"),
    (S, {}, ""),
    (S, True, ""),
    (False, S, ""),
    ({}, S, "-TYPE_CHANGED #/"),
    (True, {}, ""),
    ({}, {"properties": {}}, "-TYPE_CHANGED #/"),
    (N, INT, "-TYPE_NARROWED #/"),
    ({**S, "connect.type": "bytes"}, {**N, "connect.type": "bytes"}, ""),
    ({**S, "connect.type": "bytes"}, N, "-TYPE_CHANGED #/"),
    (INT, N, "+TYPE_EXTENDED #/"),
    ({"properties": {"a": S}}, {"properties": {"a": N}}, "-TYPE_CHANGED #/properties/a"),
    ({"type": ["string"]}, {"type": ["string", "null"]}, "+SUM_TYPE_EXTENDED #/"),
    ({"type": ["string", "null"]}, {"type": ["null", "string"]}, ""),
    ({"type": ["string", "null"]}, {"type": "string"}, "-TYPE_CHANGED #/"),
    ({"type": "string"}, {"type": ["string", "null"]}, "+SUM_TYPE_EXTENDED #/"),
    ({"type": "string", "format": "date"}, {"type": "string", "format": "uuid"}, ""),
    ({"not": N}, {"not": INT}, "+NOT_TYPE_NARROWED #/not"),
    ({"not": INT}, {"not": N}, "-NOT_TYPE_EXTENDED #/not"),
    ({"const": 1}, {"const": 2}, "-ENUM_ARRAY_CHANGED #/const"),
    ({"const": 1}, {"const": 1}, ""),
    ({"const": 1}, {"const": True}, "-ENUM_ARRAY_CHANGED #/const"),
    ({"if": S, "then": {"minLength": 1}}, {"if": S, "then": {"minLength": 2}}, ""),
]
ENUMS: list[Row] = [
    ({"enum": ["a"]}, {"enum": ["a", "b"]}, "+ENUM_ARRAY_EXTENDED #/enum"),
    ({"enum": ["a", "b"]}, {"enum": ["a"]}, "-ENUM_ARRAY_NARROWED #/enum"),
    ({"enum": ["a"]}, {"enum": ["b"]}, "-ENUM_ARRAY_CHANGED #/enum"),
    ({"enum": [1, {"a": 1, "b": 2}]}, {"enum": [{"b": 2, "a": 1}, 1]}, ""),
    ({"enum": [1]}, {"enum": [True]}, "-ENUM_ARRAY_CHANGED #/enum"),
    ({**S, "enum": ["a"]}, S, "+PRODUCT_TYPE_NARROWED #/"),
    (S, {**S, "enum": ["a"]}, "-TYPE_CHANGED #/"),
    ({**S, "enum": ["a"]}, {**S, "enum": ["a", "b"]}, "+ENUM_ARRAY_EXTENDED #/allOf/0/enum"),
    ({**S, "enum": ["a", "b"]}, {**S, "enum": ["a"]}, "-COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"),
]


def limits(schema: dict[str, Any], keyword: str, name: str, is_upper: bool) -> list[Row]:
    low, high = {**schema, keyword: 1}, {**schema, keyword: 2}
    added, grown, shrunk = ("-", "+", "-") if is_upper else ("-", "-", "+")
    return [
        (schema, low, f"{added}{name}_ADDED #/{keyword}"),
        (low, schema, f"+{name}_REMOVED #/{keyword}"),
        (low, high, f"{grown}{name}_INCREASED #/{keyword}"),
        (high, low, f"{shrunk}{name}_DECREASED #/{keyword}"),
        (low, low, ""),
    ]


OBJECT, ARRAY = {"type": "object"}, {"type": "array"}
LIMITS: list[Row] = [
    *limits(S, "maxLength", "MAX_LENGTH", is_upper=True),
    *limits(S, "minLength", "MIN_LENGTH", is_upper=False),
    *limits(N, "maximum", "MAXIMUM", is_upper=True),
    *limits(INT, "minimum", "MINIMUM", is_upper=False),
    *limits(N, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM", is_upper=True),
    *limits(N, "exclusiveMinimum", "EXCLUSIVE_MINIMUM", is_upper=False),
    *limits(OBJECT, "maxProperties", "MAX_PROPERTIES", is_upper=True),
    *limits(OBJECT, "minProperties", "MIN_PROPERTIES", is_upper=False),
    *limits(ARRAY, "maxItems", "MAX_ITEMS", is_upper=True),
    *limits(ARRAY, "minItems", "MIN_ITEMS", is_upper=False),
    ({**S, "pattern": "a"}, {**S, "pattern": "b"}, "-PATTERN_CHANGED #/pattern"),
    ({**S, "pattern": "a"}, S, "+PATTERN_REMOVED #/pattern"),
    (S, {**S, "pattern": "a"}, "-PATTERN_ADDED #/pattern"),
    (N, {**N, "multipleOf": 2}, "-MULTIPLE_OF_ADDED #/multipleOf"),
    ({**N, "multipleOf": 2}, N, "+MULTIPLE_OF_REMOVED #/multipleOf"),
    ({**N, "multipleOf": 2}, {**N, "multipleOf": 4}, "-MULTIPLE_OF_EXPANDED #/multipleOf"),
    ({**N, "multipleOf": 4}, {**N, "multipleOf": 2}, "+MULTIPLE_OF_REDUCED #/multipleOf"),
    ({**N, "multipleOf": 4}, {**N, "multipleOf": 3}, "-MULTIPLE_OF_CHANGED #/multipleOf"),
    ({**N, "multipleOf": 0.5}, {**N, "multipleOf": 10}, "-MULTIPLE_OF_EXPANDED #/multipleOf"),
    ({**N, "multipleOf": 0.3}, {**N, "multipleOf": 0.1}, "+MULTIPLE_OF_REDUCED #/multipleOf"),
    ({"minimum": 1.0, **N}, {"minimum": 1, **N}, ""),
    ({"maxLength": 5}, {**S, "maxLength": 5}, ""),
]

CLOSED = {"additionalProperties": False}
OF_STRINGS = {"additionalProperties": S}
REFERRING = {"properties": {"a": {"$ref": "#/definitions/d"}}, "definitions": {"d": {**S, "default": ""}}}
OBJECTS: list[Row] = [
    (
        {"properties": {}},
        {"properties": {"b": N}, "required": ["b"]},
        "-REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    (
        {"properties": {}},
        {"properties": {"b": {**N, "default": 1}}, "required": ["b"]},
        "-REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    (
        {"properties": {"a": S}},
        {"properties": {"a": S, "b": N}},
        "-OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    (
        {"properties": {"a": S}},
        {"properties": {"a": S, "b": {}}},
        "+PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    (
        {"properties": {"a": S, "b": N}},
        {"properties": {"a": S}},
        "+PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL #/properties/b",
    ),
    (
        CLOSED,
        {**CLOSED, "properties": {"a": S}},
        "+OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        CLOSED,
        {**CLOSED, "properties": {"a": S}, "required": ["a"]},
        "-REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        CLOSED,
        {**CLOSED, "properties": {"a": {**S, "default": "x"}}, "required": ["a"]},
        "+REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        {**CLOSED, "properties": {"a": S}},
        CLOSED,
        "-PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/a",
    ),
    (
        {**CLOSED, "properties": {"a": False}},
        CLOSED,
        "+PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/a",
    ),
    (
        OF_STRINGS,
        {**OF_STRINGS, "properties": {"a": S}},
        "+PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/a "
        "+OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        OF_STRINGS,
        {**OF_STRINGS, "properties": {"a": N}},
        "-TYPE_CHANGED #/properties/a "
        "-PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/a "
        "+OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        {**OF_STRINGS, "properties": {"a": S}},
        OF_STRINGS,
        "+PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        {**OF_STRINGS, "properties": {"a": N}},
        OF_STRINGS,
        "-TYPE_CHANGED #/properties/a "
        "-PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/a",
    ),
    (
        {**CLOSED, "patternProperties": {"^x_": S, "^n_": INT}},
        {**CLOSED, "patternProperties": {"^x_": S, "^n_": INT}, "properties": {"n_1": N}},
        "+TYPE_EXTENDED #/properties/n_1 "
        "+PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/n_1 "
        "+OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/n_1",
    ),
    (
        {**CLOSED, "properties": {"a_n": INT}},
        {**CLOSED, "patternProperties": {"(?=broken": S, "_n$": INT}},
        "+PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/a_n",
    ),
    (
        {"properties": {"a": S}},
        {"properties": {"a": S}, "required": ["a"]},
        "-REQUIRED_ATTRIBUTE_ADDED #/required/a",
    ),
    (
        {"properties": {"a": {**S, "default": ""}}},
        {"properties": {"a": {**S, "default": ""}}, "required": ["a"]},
        "+REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED #/required/a",
    ),
    (
        {"properties": {"a": {"$ref": "#/definitions/d"}}, "definitions": {"d": {**S, "default": ""}}},
        {
            "properties": {"a": {"$ref": "#/definitions/d"}},
            "definitions": {"d": {**S, "default": ""}},
            "required": ["a"],
        },
        "+REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED #/required/a",
    ),
    (
        {"properties": {"a": S}, "required": ["a"]},
        {"properties": {"a": S}, "required": ["b"]},
        "+REQUIRED_ATTRIBUTE_REMOVED #/required/a",
    ),
    (CLOSED, {"additionalProperties": True}, "+ADDITIONAL_PROPERTIES_ADDED #/additionalProperties"),
    ({"additionalProperties": True}, CLOSED, "-ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"),
    ({"additionalProperties": True}, OF_STRINGS, "-ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"),
    (OF_STRINGS, {"additionalProperties": True}, "+ADDITIONAL_PROPERTIES_EXTENDED #/additionalProperties"),
    (OF_STRINGS, {"additionalProperties": N}, "-TYPE_CHANGED #/additionalProperties"),
    ({"dependencies": {"a": ["b"]}}, {"dependencies": {}}, "+DEPENDENCY_ARRAY_REMOVED #/dependencies/a"),
    ({"dependencies": {}}, {"dependencies": {"a": ["b"]}}, "-DEPENDENCY_ARRAY_ADDED #/dependencies/a"),
    (
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"a": ["b", "c"]}},
        "-DEPENDENCY_ARRAY_EXTENDED #/dependencies/a",
    ),
    (
        {"dependencies": {"a": ["b", "c"]}},
        {"dependencies": {"a": ["b"]}},
        "+DEPENDENCY_ARRAY_NARROWED #/dependencies/a",
    ),
    (
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"a": ["c"]}},
        "-DEPENDENCY_ARRAY_CHANGED #/dependencies/a",
    ),
    ({"dependencies": {"a": S}}, {"dependencies": {}}, "+DEPENDENCY_SCHEMA_REMOVED #/dependencies/a"),
    ({"dependencies": {}}, {"dependencies": {"a": S}}, "-DEPENDENCY_SCHEMA_ADDED #/dependencies/a"),
    ({"dependencies": {"a": S}}, {"dependencies": {"a": N}}, "-TYPE_CHANGED #/dependencies/a"),
]

CLOSED_ITEMS = {**ARRAY, "additionalItems": False}
STRING_ITEMS = {**ARRAY, "additionalItems": S}
ARRAYS: list[Row] = [
    (ARRAY, {**ARRAY, "items": S}, "-SCHEMA_ADDED #/items"),
    ({**ARRAY, "items": S}, ARRAY, "+SCHEMA_REMOVED #/items"),
    ({**ARRAY, "items": S}, {**ARRAY, "items": N}, "-TYPE_CHANGED #/items"),
    ({**ARRAY, "items": [S]}, {**ARRAY, "items": [N]}, "-TYPE_CHANGED #/items/0"),
    ({**ARRAY, "items": [S, N]}, {**ARRAY, "items": [S]}, "+ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL #/items/1"),
    ({**ARRAY, "items": [S]}, {**ARRAY, "items": [S, N]}, "-ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1"),
    (
        {**ARRAY, "items": [S]},
        {**ARRAY, "items": [S, True]},
        "+ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
    ),
    (
        {**CLOSED_ITEMS, "items": [S]},
        {**CLOSED_ITEMS, "items": [S, N]},
        "+ITEM_ADDED_TO_CLOSED_CONTENT_MODEL #/items/1",
    ),
    (
        {**CLOSED_ITEMS, "items": [S, N]},
        {**CLOSED_ITEMS, "items": [S]},
        "-ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
    ),
    (
        {**CLOSED_ITEMS, "items": [S, False]},
        {**CLOSED_ITEMS, "items": [S]},
        "+ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
    ),
    (
        {**STRING_ITEMS, "items": [S]},
        {**STRING_ITEMS, "items": [S, S]},
        "+ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    (
        {**STRING_ITEMS, "items": [S]},
        {**STRING_ITEMS, "items": [S, N]},
        "-TYPE_CHANGED #/items/1 -ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    (
        {**STRING_ITEMS, "items": [S, S]},
        {**STRING_ITEMS, "items": [S]},
        "+ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    (
        {**STRING_ITEMS, "items": [S, N]},
        {**STRING_ITEMS, "items": [S]},
        "-TYPE_CHANGED #/items/1 -ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    (CLOSED_ITEMS, ARRAY, "+ADDITIONAL_ITEMS_ADDED #/additionalItems"),
    (ARRAY, CLOSED_ITEMS, "-ADDITIONAL_ITEMS_REMOVED #/additionalItems"),
    (ARRAY, STRING_ITEMS, "-ADDITIONAL_ITEMS_NARROWED #/additionalItems"),
    (STRING_ITEMS, ARRAY, "+ADDITIONAL_ITEMS_EXTENDED #/additionalItems"),
    ({**ARRAY, "uniqueItems": True}, ARRAY, "+UNIQUE_ITEMS_REMOVED #/uniqueItems"),
    (ARRAY, {**ARRAY, "uniqueItems": True}, "-UNIQUE_ITEMS_ADDED #/uniqueItems"),
]

COMBINATIONS: list[Row] = [
    (S, {"oneOf": [N, S]}, "+SUM_TYPE_EXTENDED #/"),
    ({**S, "maxLength": 3}, {"anyOf": [N, S]}, "+MAX_LENGTH_REMOVED #/maxLength +SUM_TYPE_EXTENDED #/"),
    (S, {"oneOf": [S]}, ""),
    (S, {"allOf": [S]}, ""),
    (S, {"allOf": [S, {"maxLength": 5}]}, "-TYPE_CHANGED #/"),
    ({"oneOf": [S]}, S, ""),
    ({"oneOf": [S, N]}, S, "-TYPE_CHANGED #/"),
    ({"allOf": [S, {"maxLength": 5}]}, S, "+PRODUCT_TYPE_NARROWED #/"),
    ({"oneOf": [S]}, {"oneOf": [N, S]}, "+SUM_TYPE_EXTENDED #/"),
    ({"oneOf": [S, N]}, {"oneOf": [N]}, "-SUM_TYPE_NARROWED #/"),
    ({"oneOf": [S]}, {"oneOf": [N]}, "-COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"),
    ({"allOf": [S]}, {"allOf": [S, {"maxLength": 5}]}, "-PRODUCT_TYPE_EXTENDED #/"),
    ({"allOf": [S, {"enum": ["a"]}]}, {"allOf": [S]}, "+PRODUCT_TYPE_NARROWED #/"),
    ({"allOf": [S, S]}, {"allOf": [S]}, ""),
    ({"oneOf": [S, B]}, {"anyOf": [B, S]}, "+COMBINED_TYPE_EXTENDED #/"),
    ({"allOf": [S]}, {"anyOf": [S, N]}, "+COMBINED_TYPE_EXTENDED #/ +SUM_TYPE_EXTENDED #/"),
    ({"anyOf": [S]}, {"oneOf": [N, S]}, "+COMBINED_TYPE_EXTENDED #/ +SUM_TYPE_EXTENDED #/"),
    ({"anyOf": [S, N]}, {"oneOf": [S, N]}, "-COMBINED_TYPE_CHANGED #/"),
    ({"anyOf": [S]}, {"allOf": [S]}, "+COMBINED_TYPE_EXTENDED #/"),
    ({"oneOf": [S]}, {"allOf": [S, N]}, "-COMBINED_TYPE_CHANGED #/"),
    ({"allOf": [S, B]}, {"anyOf": [S]}, "+COMBINED_TYPE_EXTENDED #/ +PRODUCT_TYPE_NARROWED #/"),
    ({"allOf": [S, B]}, {"oneOf": [S]}, "+COMBINED_TYPE_EXTENDED #/ +PRODUCT_TYPE_NARROWED #/"),
    ({"allOf": [S, B]}, {"oneOf": [S, B]}, "-COMBINED_TYPE_CHANGED #/"),
    (
        {"properties": {"a": {"oneOf": [{**S, "maxLength": 5}]}}},
        {"properties": {"a": {"oneOf": [B, N, {**S, "title": "t", "maxLength": 8}]}}},
        "+SUM_TYPE_EXTENDED #/properties/a +TITLE_CHANGED #/properties/a/oneOf/0 "
        "+MAX_LENGTH_INCREASED #/properties/a/oneOf/0/maxLength",
    ),
    # The integer fits both members, and the number only the first: the matching has to find that.
    (
        {"oneOf": [{**INT, "maximum": 5}, N]},
        {"oneOf": [{**N, "title": "x"}, {**INT, "maximum": 6}]},
        "+TITLE_CHANGED #/oneOf/1 +MAXIMUM_INCREASED #/oneOf/0/maximum",
    ),
]


def of_2020(*rows: Row) -> list[Row]:
    return [
        ({"$schema": DRAFT_2020, **before}, {"$schema": DRAFT_2020, **after}, changes)
        for before, after, changes in rows
    ]


OLD = {"$schema": DRAFT_4, **N, "minimum": 1}
UNEVALUATED = {**OBJECT, "unevaluatedProperties": False}
DRAFTS: list[Row] = [
    (
        {"$schema": DRAFT_4, **N, "minimum": 1},
        {"$schema": DRAFT_4, **N, "minimum": 1, "exclusiveMinimum": True},
        "-EXCLUSIVE_MINIMUM_ADDED #/exclusiveMinimum",
    ),
    (
        {"$schema": DRAFT_4, **N, "minimum": 1, "exclusiveMinimum": True},
        {"$schema": DRAFT_4, **N, "minimum": 1},
        "+EXCLUSIVE_MINIMUM_REMOVED #/exclusiveMinimum",
    ),
    ({"$schema": DRAFT_4, "const": 1}, {"$schema": DRAFT_4, "const": 2}, ""),
    ({"$ref": "#/definitions/d", "type": "number", "definitions": {"d": S}}, S, ""),
    *of_2020(
        ({"prefixItems": [S, N]}, {"prefixItems": [S]}, "+ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL #/items/1"),
        (
            {"prefixItems": [S], "items": False},
            {"prefixItems": [S, N], "items": False},
            "+ITEM_ADDED_TO_CLOSED_CONTENT_MODEL #/items/1",
        ),
        (
            {"prefixItems": [S], "items": N},
            {"prefixItems": [S, S], "items": N},
            "-TYPE_CHANGED #/items/1 -ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        ),
        ({"items": S}, {"items": N}, "-TYPE_CHANGED #/items"),
        ({**ARRAY, "items": False}, ARRAY, "+ADDITIONAL_ITEMS_ADDED #/additionalItems"),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"dependentRequired": {"a": ["c"]}},
            "-DEPENDENCY_ARRAY_CHANGED #/dependencies/a",
        ),
        ({"dependentSchemas": {"a": S}}, {"dependentSchemas": {"a": N}}, "-TYPE_CHANGED #/dependencies/a"),
        ({"dependencies": {"a": ["b"]}}, {"dependencies": {"a": ["c"]}}, ""),
        (OBJECT, UNEVALUATED, "-UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties"),
        (UNEVALUATED, OBJECT, "+UNEVALUATED_PROPERTIES_ADDED #/unevaluatedProperties"),
        (
            OBJECT,
            {**OBJECT, "unevaluatedProperties": S},
            "-UNEVALUATED_PROPERTIES_NARROWED #/unevaluatedProperties",
        ),
        ({**ARRAY, "unevaluatedItems": S}, ARRAY, "+UNEVALUATED_ITEMS_EXTENDED #/unevaluatedItems"),
        (
            {**ARRAY, "unevaluatedItems": S},
            {**ARRAY, "unevaluatedItems": N},
            "-TYPE_CHANGED #/unevaluatedItems",
        ),
        (
            UNEVALUATED,
            {**UNEVALUATED, "properties": {"a": S}},
            "+OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a",
        ),
        (
            {**ARRAY, "contains": S, "maxContains": 1},
            {**ARRAY, "contains": S},
            "+MAX_CONTAINS_REMOVED #/maxContains",
        ),
        (ARRAY, {**ARRAY, "contains": S}, "-MIN_CONTAINS_ADDED #/minContains"),
        (
            {"$ref": "#/$defs/d", "maxLength": 5, "$defs": {"d": S}},
            {"$ref": "#/$defs/d", "$defs": {"d": S}},
            "+PRODUCT_TYPE_NARROWED #/",
        ),
        ({"$ref": "#/$defs/d", "$defs": {"d": S}}, S, ""),
        ({**S, "format": "date"}, {**S, "format": "uuid"}, ""),
    ),
]
RULES = [*NOTES, *TYPES, *ENUMS, *LIMITS, *OBJECTS, *ARRAYS, *COMBINATIONS, *DRAFTS]


def schema(value: Any) -> JsonSchema:
    return parse(json.dumps(value))


def changes(before: Any, after: Any) -> list[str]:
    old, new = schema(before), schema(after)
    outcome = compare(old._reader.root(), new._reader.root())
    return [
        f"{'-' if difference.kind in INCOMPATIBLE else '+'}{difference.kind} #/{difference.path}"
        for difference in outcome.differences
    ]


@pytest.mark.parametrize(("before", "after", "expected"), RULES)
def test_differences_have_confluents_names_and_places(before: Any, after: Any, expected: str) -> None:
    words = expected.split()
    assert sorted(changes(before, after)) == sorted(map(" ".join, zip(words[::2], words[1::2], strict=True)))


@pytest.mark.parametrize(("before", "after", "expected"), RULES)
def test_only_incompatible_differences_are_reported(before: Any, after: Any, expected: str) -> None:
    found = [item.kind for item in schema(after).incompatibilities(schema(before))]
    assert sorted(found) == sorted(word[1:] for word in expected.split() if word.startswith("-"))


@pytest.mark.parametrize("value", [row[side] for row in RULES for side in (0, 1)])
def test_a_schema_reads_what_it_wrote_and_so_does_its_normalized_text(value: Any) -> None:
    assert schema(value).incompatibilities(schema(value)) == []
    assert schema(value).normalized().incompatibilities(schema(value)) == []


LENIENT_ROWS: list[Row] = [
    ({"properties": {"a": S}}, {"properties": {"a": S, "b": N}}, ""),
    ({}, {"properties": {"b": {**N, "default": 1}}, "required": ["b"]}, "TYPE_CHANGED"),
    (OBJECT, {"properties": {"b": {**N, "default": 1}}, "required": ["b"]}, ""),
    (OBJECT, {"properties": {"b": N}, "required": ["b"]}, "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
    ({**CLOSED, "properties": {"a": S}}, {**CLOSED, **OBJECT}, ""),
    ({**OF_STRINGS, **OBJECT}, {**OF_STRINGS, "properties": {"a": N}}, "TYPE_CHANGED"),
    (OBJECT, {**CLOSED, **OBJECT}, ""),
    ({"properties": {"a": S}}, {"properties": {"a": N}}, "TYPE_CHANGED"),
    (
        {"oneOf": [{"properties": {"a": S}}, N]},
        {"oneOf": [{"properties": {"a": S, "b": S}}, N, B]},
        "",
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), LENIENT_ROWS)
def test_the_lenient_policy_lets_properties_come_and_go(before: Any, after: Any, expected: str) -> None:
    found = schema(after).incompatibilities(schema(before), Policy.LENIENT)
    assert [item.kind for item in found] == expected.split()
    assert not expected or schema(after).incompatibilities(schema(before))


def test_what_is_lenient_is_incompatible_otherwise() -> None:
    assert set(INCOMPATIBLE) > LENIENT


def test_every_incompatible_difference_has_a_rule_in_this_table() -> None:
    named = {word[1:] for row in RULES for word in row[2].split() if word.startswith("-")}
    untried = {"UNEVALUATED_ITEMS_REMOVED", "UNEVALUATED_ITEMS_NARROWED"}
    by_limits = {kind for kind in INCOMPATIBLE if "CONTAINS" in kind}
    assert INCOMPATIBLE.keys() - named == (untried | by_limits) - named


def test_a_sentence_names_both_sides_and_the_place() -> None:
    (found,) = schema({**S, "maxLength": 3}).incompatibilities(schema({**S, "maxLength": 5}))
    assert found.kind == "MAX_LENGTH_DECREASED"
    assert found.description == (
        f"The value at path '#/maxLength' in the {READER} schema "
        f"is less than its value in the {WRITER} schema"
    )
    assert found.info is None

"""Any two schemas, however odd: parsing gives a schema or a sentence, and comparing gives an answer."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.registry.json_schema.parsing import JsonSchema, parse
from tidelog.registry.parsed import SchemaError

_DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
_REFERENCES = [
    "#",
    "#/definitions/a",
    "#/$defs/b",
    "#/properties/a",
    "#/allOf/0",
    "#x",
    "a.json",
    "a.json#/items",
]
_names = st.sampled_from(["a", "b", "x_1"])
_numbers = st.sampled_from([0, 1, 5, 2.5, 1e30])
_odd = st.sampled_from([None, True, 7, "text", [], {}, [1], {"a": 1}])


def _schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_name = st.dictionaries(_names, inner, max_size=3)
    lists = st.lists(inner, min_size=1, max_size=3)
    types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": types | st.lists(types, min_size=1, max_size=3),
        "$ref": st.sampled_from(_REFERENCES),
        "items": inner | lists,
        "prefixItems": lists,
        "required": st.lists(_names, max_size=2),
        "enum": st.lists(_odd, max_size=3),
        "const": _odd,
        "default": _odd,
        "pattern": st.sampled_from(["^a", "(", "(?=x)"]),
        "patternProperties": st.dictionaries(st.sampled_from(["^x", "(", "_"]), inner, max_size=2),
        "dependencies": st.dictionaries(_names, inner | st.lists(_names, max_size=2), max_size=2),
        **dict.fromkeys(("properties", "definitions", "$defs", "dependentSchemas"), by_name),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), lists),
        **dict.fromkeys(("not", "if", "then", "contains", "additionalProperties", "additionalItems"), inner),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems", "propertyNames"), inner),
        **dict.fromkeys(("minLength", "maxItems", "maxProperties", "minContains"), st.integers(0, 3)),
        **dict.fromkeys(("minimum", "maximum"), _numbers),
        "multipleOf": st.sampled_from([1, 2.5, 1e30, 1e-30]),
        "$id": st.sampled_from(["a", "http://example.com/a", "#x", "urn:a"]),
    }
    return st.fixed_dictionaries({}, optional=keywords)


_schemas = st.recursive(st.sampled_from([{}, True, False]), _schemas_of, max_leaves=10)


def _parsed(tree: Any, draft: str) -> JsonSchema | None:
    root = {**tree, "$schema": draft} if isinstance(tree, dict) else tree
    try:
        return parse(json.dumps(root))
    except SchemaError:
        return None


@given(one=_schemas, other=_schemas, draft=st.sampled_from(_DRAFTS))
@settings(max_examples=300, deadline=None)
def test_any_two_schemas_are_compared(one: Any, other: Any, draft: str) -> None:
    before, after = _parsed(one, draft), _parsed(other, draft)
    if before is not None:
        assert before.incompatibilities(before) == []
        assert before.normalized().incompatibilities(before) == []
        assert parse(before.text).text == before.text
    if before is not None and after is not None:
        for found in after.incompatibilities(before):
            assert "'#/" in found.description


@given(
    tree=st.recursive(
        _odd,
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["type", "$ref", "items", "oneOf", "$id", "properties", "required", "minimum", "enum"]
                ),
                inner,
                max_size=4,
            )
            | st.lists(inner, max_size=3)
        ),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_keywords_with_values_of_any_type_are_refused_or_taken(tree: Any) -> None:
    _parsed(tree, _DRAFTS[1])

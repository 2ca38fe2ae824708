"""Our check of keywords beside the official metaschemas, as the library jsonschema runs them.

Neither is the other's copy: we take a few schemas that a metaschema refuses, since Confluent's registry does.
Of all that is generated here, exactly the same schemas are taken.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.exceptions import SchemaError as MetaschemaError
from jsonschema.validators import Draft4Validator, Draft6Validator, Draft7Validator, Draft202012Validator

from tidelog.registry.json_schema.parsing import parse
from tidelog.registry.parsed import SchemaError

_names = st.sampled_from(["a", "b", "c"])
_types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string", "str", "any"])
_counts = st.sampled_from([0, 1, 7, -1, 1.5, "1", True, None])
_numbers = st.sampled_from([0, -3, 2.5, "1", True, None, []])
_flags = st.sampled_from([True, False, 0, "true", None])
_texts = st.sampled_from(["x", "", 5, None, [], True])
_strings = st.sampled_from([["a"], ["a", "b"], "a", [1], {}, None])


def _schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_name = st.dictionaries(_names, inner, max_size=2) | st.just([])
    lists = st.lists(inner, min_size=1, max_size=2) | st.just({})
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": _types | st.lists(_types, min_size=1, max_size=2, unique=True),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties"), _counts),
        **dict.fromkeys(("minimum", "maximum"), _numbers),
        **dict.fromkeys(("title", "description", "format"), _texts),
        **dict.fromkeys(("properties", "definitions", "patternProperties"), by_name),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), lists),
        **dict.fromkeys(("not", "additionalProperties"), inner),
        "uniqueItems": _flags,
        "required": _strings,
        "multipleOf": st.sampled_from([1, 0.5, 0, -1, "2"]),
        "enum": st.sampled_from([["a"], [1, "b"], "a", {}]),
    }
    return st.fixed_dictionaries({}, optional=keywords)


_schemas = st.recursive(st.just({}), _schemas_of, max_leaves=8)


@pytest.mark.parametrize(
    "validator", [Draft4Validator, Draft6Validator, Draft7Validator, Draft202012Validator]
)
@given(tree=_schemas)
@settings(max_examples=80, deadline=None)
def test_the_same_schemas_are_taken(validator: Any, tree: dict[str, Any]) -> None:
    tree = {**tree, "$schema": validator.META_SCHEMA.get("$id", validator.META_SCHEMA.get("id"))}
    try:
        validator.check_schema(tree)
        expected = True
    except MetaschemaError:
        expected = False
    try:
        parse(json.dumps(tree))
        taken = True
    except SchemaError:
        taken = False
    assert taken == expected

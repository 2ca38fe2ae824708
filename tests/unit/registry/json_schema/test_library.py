"""The addresses of schemas: of bounded length, and each reference means the same wherever it is met."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.registry.json_schema import library
from tidelog.registry.json_schema.library import ADDRESS_CHARS_MAX
from tidelog.registry.json_schema.parsing import JsonSchema, parse
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependency

BASE = "http://a/"


def addressed(chars: int, inside: int) -> str:
    """An `$id` of so many characters, which so many schemas inside continue."""
    long = f"{BASE}{'x' * (chars - len(BASE) - 1)}/"
    return json.dumps(
        {"$id": long, "properties": {f"p{number}": {"$id": f"i{number}"} for number in range(inside)}}
    )


def test_an_address_is_of_bounded_length() -> None:
    parse(addressed(ADDRESS_CHARS_MAX - 10, 1))
    for chars in (ADDRESS_CHARS_MAX, ADDRESS_CHARS_MAX + 1):
        with pytest.raises(SchemaError, match=f"more than {ADDRESS_CHARS_MAX} characters"):
            parse(addressed(chars, 1))
    with pytest.raises(SchemaError, match="more than"):
        parse("{}", [Dependency("x" * (ADDRESS_CHARS_MAX + 1), "{}")])


def test_many_long_addresses_are_refused_before_they_fill_the_memory() -> None:
    text = addressed(2000, 20_000)

    def refused() -> None:
        with pytest.raises(SchemaError, match="all addresses together"):
            parse(text)

    assert peak_bytes(refused) < 40 << 20


def test_a_reference_that_stands_in_many_places_is_looked_up_once() -> None:
    names = {f"p{number}": {"$ref": "#/definitions/d"} for number in range(1000)}
    text = json.dumps({"$id": BASE, "definitions": {"d": {}}, "properties": names})
    with patch.object(library, "urldefrag", wraps=library.urldefrag) as parts:
        parse(text)
    assert parts.call_count < 10


def reached_in_two_ways(of: str) -> JsonSchema:
    """`foo` lies in an inner document, where `#/u` leads to itself, and outside `#/u` is a schema.

    `foo` is no keyword: references alone lead to it, through either document.
    """
    inner: dict[str, Any] = {
        "$id": "http://a/inner",
        "foo": {"properties": {"a": {"$ref": "#/u"}}},
        "u": {"$ref": "#/u"},
    }
    properties = {
        "b": {"$ref": "http://a/inner#/foo"},
        "a": {"$ref": "#/properties/i/foo"},
        "i": inner,
        "t": {"type": of},
    }
    return parse(json.dumps({"$id": "http://a/outer", "u": {}, "properties": properties}))


def test_a_schema_lies_in_one_document_whatever_leads_to_it() -> None:
    """Otherwise the check follows its references to other schemas than a comparison, which may never end."""
    with pytest.raises(SchemaError, match="leads back to itself"):
        reached_in_two_ways("string")

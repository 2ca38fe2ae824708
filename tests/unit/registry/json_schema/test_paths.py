"""Paths in messages: whole where they are short, and the end of those that are not."""

import json

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.registry.json_schema.parsing import parse
from tidelog.registry.json_schema.paths import PATH_CHARS_MAX, Path, path_of, shown
from tidelog.registry.parsed import SchemaError


def test_steps_are_shown_from_the_first_to_the_last() -> None:
    assert shown(None) == ""
    assert shown((path_of("#"), ("items", 3))) == "#/items/3"


def test_of_a_long_path_the_end_is_shown() -> None:
    path: Path = path_of("#")
    for number in range(100_000):
        path = path, ("properties", number)
    assert shown(path).startswith(".../")
    assert shown(path).endswith("/properties/99998/properties/99999")
    assert PATH_CHARS_MAX - 20 < len(shown(path)) < PATH_CHARS_MAX + 20
    assert len(shown((path_of("#"), ("properties", "x" * 100_000, "y")))) < PATH_CHARS_MAX + 20


def test_a_keyword_is_named_with_its_place() -> None:
    with pytest.raises(SchemaError, match="'type' at '#/properties/a/items/1' must be"):
        parse('{"properties": {"a": {"items": [{}, {"type": "text"}]}}}')


def test_a_long_name_is_not_repeated_for_each_schema_under_it() -> None:
    inside = {f"{number:x}": {} for number in range(4000)}
    text = json.dumps({"properties": {"x" * 40_000: {"properties": inside}}})
    assert peak_bytes(lambda: parse(text)) < 100 * len(text)

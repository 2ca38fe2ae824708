"""JSON as Jackson reads and writes it: what a schema's text becomes, and texts that are refused."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.registry.json_schema.json_text import NESTING_MAX, ordered, read, write
from tidelog.registry.parsed import SchemaError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (' { "b" : 1 ,\n "a" : [ true, false, null ] } ', '{"b":1,"a":[true,false,null]}'),
        ("{}", "{}"),
        ("[ ]", "[]"),
        ("1.50", "1.50"),
        ("1e5", "1E+5"),
        ("1.2E-9", "1.2E-9"),
        ("0.0000001", "1E-7"),
        ("0.000001", "0.000001"),
        ("-0.0", "0.0"),
        ("-0", "0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ('"\\u00e9\\u2028\\/"', '"é\u2028/"'),
        ('"\\u001f\\b\\n\\""', '"\\u001F\\b\\n\\""'),
        ('"\\\\u001f"', '"\\\\u001f"'),
        ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        ('"\\ud83d\\ude00"', '"😀"'),
    ],
)
def test_a_text_is_written_as_jackson_writes_it(text: str, written: str) -> None:
    assert write(read(text)) == written


def test_keys_are_ordered_by_utf_16_as_javas_are() -> None:
    tree = {"\uffee": 1, "😀": 2, "b": [{"z": 1, "a": 2}], "B": 3}
    assert list(ordered(tree)) == ["B", "b", "😀", "\uffee"]
    assert write(ordered(tree)["b"]) == '[{"a":2,"z":1}]'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ("{} {}", "Extra data"),
        ("NaN", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        ('{"a":1e100001}', "exponent"),
        (f'{{"a":{"9" * 900}e100000}}', "exponent"),
        ('{"a":0.01e-100000}', "exponent"),
        ('{"a":0.0e-100000}', "exponent"),
        (f'{{"a":{"9" * 995}e2}}', "more than 1000 characters"),
        ('{"a":1e-99999999999999999999}', "exponent"),
        ("9" * 1001, "more than 1000 characters"),
        ('"\\ud800"', "surrogate"),
        ('{"\\udfff":1}', "surrogate"),
        ("[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1), "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ("[" * 400 + '"' + '\\"' * 100_000, "nested deeper"),
    ],
)
def test_a_text_beyond_json_or_its_limits_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        read(text)


def test_brackets_in_strings_are_no_nesting() -> None:
    text = json.dumps({"pattern": "[{" * 10_000, "x": '\\"[' * 1000})
    assert json.loads(write(read(text))) == json.loads(text)


def test_the_deepest_allowed_tree_is_read_written_and_ordered() -> None:
    text = "[" * NESTING_MAX + "]" * NESTING_MAX
    assert write(ordered(read(text))) == text


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_values)
def test_any_value_is_written_so_that_every_parser_reads_it(value: object) -> None:
    text = write(value)
    assert json.loads(text) == value
    assert read(text) == value
    assert json.loads(write(ordered(value))) == value


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_any_number_keeps_its_value_and_its_text(number: Decimal) -> None:
    text = write(read(f"[{number}]"))
    assert Decimal(text[1:-1]) == number
    assert write(read(text)) == text

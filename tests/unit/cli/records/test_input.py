"""What produce reads, and how it refuses what it cannot."""

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.records.input import Outgoing, Recipe


def test_text_is_taken_as_it_is() -> None:
    assert Recipe(key=b"k", partition=3).record(b" a=b ") == Outgoing(b"k", b" a=b ", [], 3, None)


def test_a_separator_splits_at_its_first_place() -> None:
    record = Recipe(key_separator="::").record(b"42::Ada::Lovelace")
    assert (record.key, record.value) == (b"42", b"Ada::Lovelace")


def test_with_null_value_an_empty_value_is_a_tombstone() -> None:
    recipe = Recipe(key_separator=":", null_value=True)
    assert recipe.record(b"42:").value is None
    assert recipe.record(b"42:x").value == b"x"
    assert Recipe(key_separator=":").record(b"42:").value == b""


@pytest.mark.parametrize(
    ("form", "data", "value"),
    [("hex", b"ff00", b"\xff\x00"), ("base64", b"/wA=", b"\xff\x00"), ("text", b"", b"")],
)
def test_forms(form: str, data: bytes, value: bytes) -> None:
    assert Recipe(form=form).record(data).value == value


def test_a_separator_works_with_hex_on_both_sides() -> None:
    record = Recipe(form="hex", key_separator=",").record(b"00,ff")
    assert (record.key, record.value) == (b"\x00", b"\xff")


def test_json_values_that_are_no_text_are_written_as_json() -> None:
    record = Recipe(form="json").record(b'{"key": 7, "value": {"a": [1, null]}, "headers": {"h": "x"}}')
    assert (record.key, record.value, record.headers) == (b"7", b'{"a":[1,null]}', [("h", b"x")])


def test_options_fill_in_what_a_json_line_leaves_out() -> None:
    recipe = Recipe(form="json", key=b"k", headers=[("h", b"1")], partition=1, timestamp=9)
    assert recipe.record(b'{"value": "v", "partition": 5}') == Outgoing(b"k", b"v", [("h", b"1")], 1, 9)


@pytest.mark.parametrize(
    ("recipe", "line"),
    [
        (Recipe(form="json"), b"{"),
        (Recipe(form="json"), b"[1]"),
        (Recipe(form="json"), b'{"vlaue": 1}'),
        (Recipe(form="json"), b'{"value": 1, "vlaue": 1}'),
        (Recipe(form="json"), b'{"value": 1, "headers": [["a"]]}'),
        (Recipe(form="json"), b'{"value": {"base64": "?"}}'),
        (Recipe(form="hex"), b"xyz"),
        (Recipe(form="base64"), b"?"),
        (Recipe(key_separator=":"), b"no separator"),
    ],
)
def test_a_bad_line_is_named_by_its_number(recipe: Recipe, line: bytes) -> None:
    good = b'{"value": "x"}' if recipe.form == "json" else b"00:00" if recipe.key_separator else b"abcd"
    with pytest.raises(CliError, match="Record 2 of the input") as caught:
        list(recipe.records([good, line]))
    assert caught.value.code is Exit.USAGE

"""Metadata: which shapes are taken, and how a configuration adds to them."""

import pytest

from tidelog.registry.errors import RegistryError
from tidelog.registry.metadata import (
    ENTRIES_MAX,
    checked_metadata,
    merged_metadata,
    names_version,
    sent_metadata,
    with_version,
    without_version,
)


def test_metadata_have_one_form():
    given = {"tags": {"b": ["y", "x", "x"], "a": []}, "properties": {}, "sensitive": ["s", "r"], "more": 1}
    assert checked_metadata(given) == {"tags": {"a": [], "b": ["x", "y"]}, "sensitive": ["r", "s"]}
    assert checked_metadata(None) is None
    assert checked_metadata({}) == {}


@pytest.mark.parametrize(
    "given",
    [
        [],
        "x",
        {"tags": [1]},
        {"tags": {"a": "b"}},
        {"tags": {"a": [1]}},
        {"properties": {"a": 1}},
        {"sensitive": "x"},
    ],
)
def test_malformed_metadata(given):
    with pytest.raises(RegistryError) as refusal:
        checked_metadata(given)
    assert refusal.value.code.status == 422


def test_of_two_metadata_the_new_ones_win():
    old = {"properties": {"a": "1", "b": "1"}, "tags": {"t": ["x"]}}
    new = {"properties": {"b": "2"}, "sensitive": ["a"]}
    assert merged_metadata(old, new) == {
        "tags": {"t": ["x"]},
        "properties": {"a": "1", "b": "2"},
        "sensitive": ["a"],
    }
    assert merged_metadata(None, new) == new
    assert merged_metadata(old, None) == old


def test_metadata_that_name_the_version():
    named = with_version(None, 3)
    assert named == {"properties": {"confluent:version": "3"}}
    assert names_version(named)
    assert not names_version({"properties": {}})
    assert without_version(named) is None
    assert without_version(with_version({"properties": {"a": "1"}}, 3)) == {"properties": {"a": "1"}}


def test_what_a_client_sends_has_a_bound():
    many = [f"n{number}" for number in range(ENTRIES_MAX + 1)]
    assert sent_metadata({"sensitive": many[1:]})["sensitive"]
    for given in (
        {"sensitive": many},
        {"properties": dict.fromkeys(many, "")},
        {"tags": {"a": many}},
        {"tags": {name: ["x"] for name in many[: ENTRIES_MAX // 2 + 1]}},
    ):
        with pytest.raises(RegistryError, match=f"more than {ENTRIES_MAX}"):
            sent_metadata(given)
        assert checked_metadata(given)


@pytest.mark.parametrize("given", [[], {"tags": 1}, {"properties": "x"}, {"tags": {"a": 1}}])
def test_shapes_that_are_wrong_are_refused_as_ever(given):
    with pytest.raises(RegistryError, match="malformed"):
        sent_metadata(given)

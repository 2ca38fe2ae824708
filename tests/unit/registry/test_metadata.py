"""Metadata and rules: which shapes are taken, and how a configuration adds to them."""

import pytest

from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.metadata import (
    ENTRIES_MAX,
    checked_metadata,
    checked_rule_set,
    merged_metadata,
    merged_rule_sets,
    names_version,
    sent_metadata,
    sent_rule_set,
    with_version,
    without_version,
)


def rule(name, **fields):
    return {"name": name, "type": "CEL", "mode": "WRITE", **fields}


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


def test_rules_have_one_form():
    given = {"domainRules": [rule("a", tags=["y", "x"], params={"q": "1", "p": "2"}, doc=None, odd=1)]}
    assert checked_rule_set(given) == {
        "domainRules": [rule("a", tags=["x", "y"], params={"p": "2", "q": "1"}, disabled=False)]
    }


@pytest.mark.parametrize(
    "given",
    [
        [],
        {"domainRules": {"a": 1}},
        {"domainRules": [1]},
        {"domainRules": [{"type": "CEL"}]},
        {"domainRules": [{"name": "a"}]},
        {"domainRules": [rule("a"), rule("a")]},
        {"domainRules": [rule("1a")]},
        {"domainRules": [rule("a" * 65)]},
        {"domainRules": [rule("a", mode="UPGRADE")]},
        {"migrationRules": [rule("a", mode="WRITE")]},
        {"domainRules": [rule("a", tags="x")]},
        {"domainRules": [rule("a", params={"p": 1})]},
        {"domainRules": [rule("a", expr=1)]},
        {"enableAt": 1},
    ],
)
def test_invalid_rules(given):
    with pytest.raises(RegistryError) as refusal:
        checked_rule_set(given)
    assert refusal.value.code == RegistryCode.INVALID_RULE_SET


def test_of_two_rules_with_one_name_the_new_one_stays():
    old = {"domainRules": [rule("a", expr="old"), rule("b")], "enableAt": "CLIENT"}
    new = {"domainRules": [rule("a", expr="new")], "encodingRules": [rule("c")]}
    merged = merged_rule_sets(old, new)
    assert merged == {
        "domainRules": [rule("b"), rule("a", expr="new")],
        "encodingRules": [rule("c")],
        "enableAt": "CLIENT",
    }


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
    for given in (
        {"domainRules": [rule(name) for name in many]},
        {"migrationRules": [rule("a", mode="UPGRADE", tags=many)]},
        {"encodingRules": [rule("a", params=dict.fromkeys(many, ""))]},
    ):
        with pytest.raises(RegistryError, match=f"more than {ENTRIES_MAX}"):
            sent_rule_set(given)
        assert checked_rule_set(given)


@pytest.mark.parametrize("given", [None, {}, [], {"tags": 1}, {"properties": "x"}, {"domainRules": 3}])
def test_shapes_that_are_wrong_are_refused_as_ever(given):
    for sent, checked in ((sent_metadata, checked_metadata), (sent_rule_set, checked_rule_set)):
        assert outcome(sent, given) == outcome(checked, given)


def outcome(check, given):
    try:
        return check(given)
    except RegistryError as error:
        return str(error)

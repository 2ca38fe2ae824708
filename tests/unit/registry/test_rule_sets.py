"""Rules: which shapes are taken, and how a configuration adds to them."""

import pytest

from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.metadata import ENTRIES_MAX
from tidelog.registry.rule_sets import checked_rule_set, merged_rule_sets, sent_rule_set


def rule(name, **fields):
    return {"name": name, "type": "CEL", "mode": "WRITE", "kind": "CONDITION", **fields}


def test_rules_have_one_form():
    given = {"domainRules": [rule("a", tags=["y", "x"], params={"q": "1", "p": "2"}, doc=None, odd=1)]}
    assert checked_rule_set(given) == {
        "domainRules": [rule("a", tags=["x", "y"], params={"p": "2", "q": "1"}, disabled=False)]
    }


def test_a_rule_that_does_not_say_is_a_transformation_both_ways():
    given = {"domainRules": [{"name": "a", "type": "ENCRYPT", "mode": None}]}
    rules = checked_rule_set(given)["domainRules"]
    wanted = {"name": "a", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT", "disabled": False}
    assert list(rules[0].items()) == list(wanted.items())


def test_an_action_for_each_way():
    both = {"onSuccess": "NONE,NONE", "onFailure": "DLQ,ERROR"}
    assert checked_rule_set({"domainRules": [rule("a", mode="WRITEREAD", **both)]})
    assert checked_rule_set({"migrationRules": [rule("a", mode="UPDOWN", **both)], "enableAt": "CLIENT"})


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
        {"domainRules": [rule("a" * 257)]},
        {"domainRules": [rule("a", kind="OTHER")]},
        {"domainRules": [rule("a", kind="condition")]},
        {"domainRules": [rule("a", mode="")]},
        {"migrationRules": [{"name": "a", "type": "JSONATA"}]},
        {"domainRules": [rule("a", onSuccess="NONE,NONE")]},
        {"domainRules": [rule("a", onFailure="DLQ,NONE", mode="READ")]},
        {"domainRules": [rule("a", disabled="false")]},
        {"enableAt": "2026"},
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
    assert sent_rule_set({"domainRules": [rule(name) for name in many[1:]]})
    for given in (
        {"domainRules": [rule(name) for name in many]},
        {"migrationRules": [rule("a", mode="UPGRADE", tags=many)]},
        {"encodingRules": [rule("a", params=dict.fromkeys(many, ""))]},
    ):
        with pytest.raises(RegistryError, match=f"more than {ENTRIES_MAX}"):
            sent_rule_set(given)
        assert checked_rule_set(given)


@pytest.mark.parametrize("given", [[], {"domainRules": 3}, {"domainRules": [3]}])
def test_shapes_that_are_wrong_are_refused_as_ever(given):
    with pytest.raises(RegistryError) as refusal:
        sent_rule_set(given)
    assert refusal.value.code == RegistryCode.INVALID_RULE_SET

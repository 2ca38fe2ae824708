"""Rules beside a schema's text: checked, and merged with the defaults of a configuration.

The registry keeps rules and gives them back; clients run them. They are JSON in Confluent's shape, without
what is empty, as Confluent writes them.
"""

from typing import Any

from tidelog.registry.content import java_order
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.metadata import ENTRIES_MAX, is_text, length
from tidelog.registry.schema import JsonObject

RULE_KINDS = ("migrationRules", "domainRules", "encodingRules")
_MODES = {
    "migrationRules": {"UPGRADE", "DOWNGRADE", "UPDOWN"},
    "domainRules": {"WRITE", "READ", "WRITEREAD"},
    "encodingRules": {"WRITE", "READ", "WRITEREAD"},
}
_DEFAULTS = {"kind": "TRANSFORM", "mode": "WRITEREAD"}
"""Of a rule that does not say: clients know none without a mode, and would not run it."""
_BOTH_WAYS = {"WRITEREAD", "UPDOWN"}
_KINDS = {"TRANSFORM", "CONDITION"}
_PLACES = {"NONE", "ALL", "SERVER", "GATEWAY", "CLIENT"}
_TEXT_FIELDS = ("name", "doc", "kind", "mode", "type")
_ACTION_FIELDS = ("expr", "onSuccess", "onFailure")
RULE_NAME_CHARS_MAX = 256


def sent_rule_set(given: Any) -> JsonObject | None:
    """As `checked_rule_set`, of what a client sends: RegistryError, too, for more than `ENTRIES_MAX`."""
    if isinstance(given, dict):
        kinds = [given.get(kind) for kind in RULE_KINDS]
        rules = [rule for kind in kinds if isinstance(kind, list) for rule in kind if isinstance(rule, dict)]
        inner = [rule.get(name) for rule in rules for name in ("tags", "params")]
        if sum(map(length, (*kinds, *inner))) > ENTRIES_MAX:
            raise _invalid_rules(f"it has more than {ENTRIES_MAX} rules, tags and parameters")
    return checked_rule_set(given)


def checked_rule_set(given: Any) -> JsonObject | None:
    """Returns rules in their one form. RegistryError: INVALID_RULE_SET."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise _invalid_rules("a rule set is a JSON object")
    names: set[str] = set()
    rule_set: dict[str, Any] = {}
    for kind in RULE_KINDS:
        rules = given.get(kind) or []
        if not isinstance(rules, list):
            raise _invalid_rules(f"'{kind}' is a list of rules")
        if rules:
            rule_set[kind] = [_checked_rule(rule, kind, names) for rule in rules]
    if given.get("enableAt") is not None:
        rule_set["enableAt"] = _one_of(_PLACES, _text(given["enableAt"], "enableAt"), "'enableAt'")
    return rule_set


def merged_rule_sets(old: JsonObject | None, new: JsonObject | None) -> JsonObject | None:
    """Returns the rules of both; of rules with one name, the new one."""
    if old is None or new is None:
        return new if old is None else old
    merged: dict[str, Any] = {}
    for kind in RULE_KINDS:
        replaced = {rule.get("name") for rule in new.get(kind) or ()}  # another registry may store none
        rules = [rule for rule in old.get(kind) or () if rule.get("name") not in replaced]
        rules += new.get(kind) or ()
        if rules:
            merged[kind] = rules
    enabled_at = new.get("enableAt") or old.get("enableAt")
    return {**merged, "enableAt": enabled_at} if enabled_at else merged


def _checked_rule(given: Any, kind: str, names: set[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _invalid_rules("a rule is a JSON object")
    given = {**_DEFAULTS, **{field: value for field, value in given.items() if value is not None}}
    rule: dict[str, Any] = {field: _text(given[field], field) for field in _TEXT_FIELDS if field in given}
    name = rule.get("name", "")
    if not name or len(name) > RULE_NAME_CHARS_MAX or not _is_rule_name(name):
        raise _invalid_rules(f"{name[:RULE_NAME_CHARS_MAX]!r} is not the name of a rule")
    if name in names:
        raise _invalid_rules(f"found rule with duplicate name '{name}'")
    names.add(name)
    if "type" not in rule:
        raise _invalid_rules(f"rule '{name}' has no type")
    _one_of(_KINDS, rule["kind"], f"the kind of rule '{name}'")
    _one_of(_MODES[kind], rule["mode"], f"the mode of rule '{name}' in '{kind}'")
    tags, parameters = given.get("tags") or [], given.get("params") or {}
    if not isinstance(tags, list) or not all(is_text(tag) for tag in tags):
        raise _invalid_rules(f"the tags of rule '{name}' are a list of texts")
    if not isinstance(parameters, dict) or not all(is_text(text) for text in parameters.values()):
        raise _invalid_rules(f"the parameters of rule '{name}' are texts under names")
    if tags:
        rule["tags"] = java_order(set(tags))
    if parameters:
        rule["params"] = {key: parameters[key] for key in java_order(parameters)}
    rule |= {field: _text(given[field], field) for field in _ACTION_FIELDS if field in given}
    if rule["mode"] not in _BOTH_WAYS and "," in rule.get("onSuccess", "") + rule.get("onFailure", ""):
        raise _invalid_rules(f"rule '{name}' has an action for each way, and a mode of one way")
    rule["disabled"] = given.get("disabled", False)
    if not isinstance(rule["disabled"], bool):
        raise _invalid_rules(f"'disabled' of rule '{name}' is true or false")
    return rule


def _one_of(known: set[str], text: str, what: str) -> str:
    """Clients know these words alone, and cannot read a schema with another one."""
    if text not in known:
        raise _invalid_rules(f"{what} is one of {', '.join(sorted(known))}, and is {text[:50]!r}")
    return text


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _invalid_rules(f"'{field}' of a rule is a text")
    return value


def _is_rule_name(name: str) -> bool:
    return (name[0].isalpha() or name[0] == "_") and all(char.isalnum() or char in "_-" for char in name)


def _invalid_rules(why: str) -> RegistryError:
    return RegistryError(RegistryCode.INVALID_RULE_SET, f"Invalid rule set: {why}.")

"""Metadata and rules beside a schema's text: checked, and merged with the defaults of a configuration.

The registry keeps rules and gives them back; clients run them. Both are JSON in Confluent's shape, without
what is empty, and with sorted tags and properties, as Confluent writes them.
"""

from typing import Any

from tidelog.registry.content import java_order
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.schema import JsonObject

VERSION_PROPERTY = "confluent:version"
"""A property that follows the version, for clients that ask for it."""

RULE_KINDS = ("migrationRules", "domainRules", "encodingRules")
_MODES = {
    "migrationRules": {"UPGRADE", "DOWNGRADE", "UPDOWN"},
    "domainRules": {"WRITE", "READ", "WRITEREAD"},
    "encodingRules": {"WRITE", "READ", "WRITEREAD"},
}
_TEXT_FIELDS = ("name", "doc", "kind", "mode", "type")
_ACTION_FIELDS = ("expr", "onSuccess", "onFailure")
RULE_NAME_CHARS_MAX = 64

ENTRIES_MAX = 2000
"""Tags, properties, sensitive names, rules and their parameters that a client sends in one schema or one
setting: they are sorted, hashed and merged on the event loop. What other registries stored may have more."""


def sent_metadata(given: Any) -> JsonObject | None:
    """As `checked_metadata`, of what a client sends: RegistryError, too, for more than `ENTRIES_MAX`."""
    if isinstance(given, dict):
        tags, properties, sensitive = (given.get(name) or () for name in ("tags", "properties", "sensitive"))
        values = tags.values() if isinstance(tags, dict) else ()
        if sum(map(_length, (tags, properties, sensitive, *values))) > ENTRIES_MAX:
            raise RegistryError(
                RegistryCode.UNPROCESSABLE,
                f"The metadata have more than {ENTRIES_MAX} tags, properties and sensitive names. Use paths "
                "with wildcards in tags, or leave some out.",
            )
    return checked_metadata(given)


def checked_metadata(given: Any) -> JsonObject | None:
    """Returns metadata in its one form. RegistryError: it does not have the shape of metadata."""
    if given is None:
        return None
    tags = _entries(
        given, "tags", lambda value: isinstance(value, list) and all(_is_text(tag) for tag in value)
    )
    properties = _entries(given, "properties", _is_text)
    sensitive = given.get("sensitive") or []
    if not isinstance(sensitive, list) or not all(_is_text(name) for name in sensitive):
        raise _malformed_metadata("sensitive")
    metadata: dict[str, Any] = {}
    if tags:
        metadata["tags"] = {key: java_order(set(tags[key])) for key in java_order(tags)}
    if properties:
        metadata["properties"] = {key: properties[key] for key in java_order(properties)}
    if sensitive:
        metadata["sensitive"] = java_order(set(sensitive))
    return metadata


def merged_metadata(old: JsonObject | None, new: JsonObject | None) -> JsonObject | None:
    """Returns both, where the new wins."""
    if old is None or new is None:
        return new if old is None else old
    return checked_metadata(
        {
            "tags": {**(old.get("tags") or {}), **(new.get("tags") or {})},
            "properties": {**(old.get("properties") or {}), **(new.get("properties") or {})},
            "sensitive": [*(old.get("sensitive") or ()), *(new.get("sensitive") or ())],
        }
    )


def with_version(metadata: JsonObject | None, version: int) -> JsonObject | None:
    return merged_metadata(metadata or {}, {"properties": {VERSION_PROPERTY: str(version)}})


def without_version(metadata: JsonObject | None) -> JsonObject | None:
    if metadata is None or VERSION_PROPERTY not in (metadata.get("properties") or {}):
        return metadata
    properties = {key: value for key, value in metadata["properties"].items() if key != VERSION_PROPERTY}
    return checked_metadata({**metadata, "properties": properties}) or None


def names_version(metadata: JsonObject | None, version: int | None = None) -> bool:
    """Whether the metadata name a version, or this one."""
    named = ((metadata or {}).get("properties") or {}).get(VERSION_PROPERTY)
    return named is not None if version is None else named == str(version)


def sent_rule_set(given: Any) -> JsonObject | None:
    """As `checked_rule_set`, of what a client sends: RegistryError, too, for more than `ENTRIES_MAX`."""
    if isinstance(given, dict):
        kinds = [given.get(kind) for kind in RULE_KINDS]
        rules = [rule for kind in kinds if isinstance(kind, list) for rule in kind if isinstance(rule, dict)]
        inner = [rule.get(name) for rule in rules for name in ("tags", "params")]
        if sum(map(_length, (*kinds, *inner))) > ENTRIES_MAX:
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
        rule_set["enableAt"] = _text(given["enableAt"], "enableAt")
    return rule_set


def merged_rule_sets(old: JsonObject | None, new: JsonObject | None) -> JsonObject | None:
    """Returns the rules of both; of rules with one name, the new one."""
    if old is None or new is None:
        return new if old is None else old
    merged: dict[str, Any] = {}
    for kind in RULE_KINDS:
        replaced = {rule["name"] for rule in new.get(kind) or ()}
        rules = [rule for rule in old.get(kind) or () if rule["name"] not in replaced]
        rules += new.get(kind) or ()
        if rules:
            merged[kind] = rules
    enabled_at = new.get("enableAt") or old.get("enableAt")
    return {**merged, "enableAt": enabled_at} if enabled_at else merged


def _checked_rule(given: Any, kind: str, names: set[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _invalid_rules("a rule is a JSON object")
    rule: dict[str, Any] = {
        field: _text(given[field], field) for field in _TEXT_FIELDS if given.get(field) is not None
    }
    name = rule.get("name", "")
    if not name or len(name) > RULE_NAME_CHARS_MAX or not _is_rule_name(name):
        raise _invalid_rules(f"{name[:RULE_NAME_CHARS_MAX]!r} is not the name of a rule")
    if name in names:
        raise _invalid_rules(f"found rule with duplicate name '{name}'")
    names.add(name)
    if "type" not in rule:
        raise _invalid_rules(f"rule '{name}' has no type")
    if "mode" in rule and rule["mode"] not in _MODES[kind]:
        raise _invalid_rules(
            f"rule '{name}' of '{kind}' can only have a mode of {', '.join(sorted(_MODES[kind]))}"
        )
    tags, parameters = given.get("tags") or [], given.get("params") or {}
    if not isinstance(tags, list) or not all(_is_text(tag) for tag in tags):
        raise _invalid_rules(f"the tags of rule '{name}' are a list of texts")
    if not isinstance(parameters, dict) or not all(_is_text(text) for text in parameters.values()):
        raise _invalid_rules(f"the parameters of rule '{name}' are texts under names")
    if tags:
        rule["tags"] = java_order(set(tags))
    if parameters:
        rule["params"] = {key: parameters[key] for key in java_order(parameters)}
    rule |= {field: _text(given[field], field) for field in _ACTION_FIELDS if given.get(field) is not None}
    rule["disabled"] = bool(given.get("disabled", False))
    return rule


def _entries(given: Any, field: str, is_good: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _malformed_metadata("metadata")
    entries = given.get(field) or {}
    if not isinstance(entries, dict) or not all(is_good(value) for value in entries.values()):
        raise _malformed_metadata(field)
    return entries


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _invalid_rules(f"'{field}' of a rule is a text")
    return value


def _is_rule_name(name: str) -> bool:
    return (name[0].isalpha() or name[0] == "_") and all(char.isalnum() or char in "_-" for char in name)


def _malformed_metadata(field: str) -> RegistryError:
    return RegistryError(
        RegistryCode.UNPROCESSABLE,
        f"The metadata is malformed at '{field}': it has 'tags' (lists of texts under names), "
        "'properties' (texts "
        "under names) and 'sensitive' (a list of names).",
    )


def _invalid_rules(why: str) -> RegistryError:
    return RegistryError(RegistryCode.INVALID_RULE_SET, f"Invalid rule set: {why}.")

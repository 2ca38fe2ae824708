"""Metadata beside a schema's text: checked, and merged with the defaults of a configuration.

JSON in Confluent's shape, without what is empty, and with sorted tags and properties, as Confluent writes
them.
"""

from typing import Any

from tidelog.registry.content import java_order
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.schema import JsonObject

VERSION_PROPERTY = "confluent:version"
"""A property that follows the version, for clients that ask for it."""

ENTRIES_MAX = 2000
"""Tags, properties, sensitive names, rules and their parameters that a client sends in one schema or one
setting: they are sorted, hashed and merged on the event loop. What other registries stored may have more."""


def sent_metadata(given: Any) -> JsonObject | None:
    """As `checked_metadata`, of what a client sends: RegistryError, too, for more than `ENTRIES_MAX`."""
    if isinstance(given, dict):
        tags, properties, sensitive = (given.get(name) or () for name in ("tags", "properties", "sensitive"))
        values = tags.values() if isinstance(tags, dict) else ()
        if sum(map(length, (tags, properties, sensitive, *values))) > ENTRIES_MAX:
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
        given, "tags", lambda value: isinstance(value, list) and all(is_text(tag) for tag in value)
    )
    properties = _entries(given, "properties", is_text)
    sensitive = given.get("sensitive") or []
    if not isinstance(sensitive, list) or not all(is_text(name) for name in sensitive):
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


def _entries(given: Any, field: str, is_good: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _malformed_metadata("metadata")
    entries = given.get(field) or {}
    if not isinstance(entries, dict) or not all(is_good(value) for value in entries.values()):
        raise _malformed_metadata(field)
    return entries


def length(value: Any) -> int:
    """Returns the entries of a list or an object that a client sent; 0 for anything else."""
    return len(value) if isinstance(value, dict | list) else 0


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def _malformed_metadata(field: str) -> RegistryError:
    return RegistryError(
        RegistryCode.UNPROCESSABLE,
        f"The metadata is malformed at '{field}': it has 'tags' (lists of texts under names), "
        "'properties' (texts "
        "under names) and 'sensitive' (a list of names).",
    )

"""What makes two schemas the same: a hash of text, references, metadata and rules, as Confluent computes it.

Written as a UUID it is the schema's GUID, which Confluent's clients can put into a record's header.
"""

from collections.abc import Iterable, Iterator
from hashlib import md5
from typing import Any
from uuid import UUID

from tidelog.registry.schema import JsonObject, Schema

_RULE_TEXTS = ("name", "doc", "kind", "mode", "type")
_RULE_ACTIONS = ("expr", "onSuccess", "onFailure")
PRESENT = b"\x01"
"""Stands before metadata and rules, so that empty ones differ from none."""


def content_hash(schema: Schema) -> bytes:
    """Returns 16 bytes. Raises UnicodeEncodeError for a text that is no Unicode."""
    digest = md5(schema.text.encode(), usedforsecurity=False)
    for reference in schema.references:
        digest.update(reference.name.encode() + reference.subject.encode())
        digest.update(reference.version.to_bytes(4, signed=True))
    if schema.metadata is not None:
        digest.update(PRESENT + "".join(_metadata_texts(schema.metadata)).encode())
    if schema.rule_set is not None:
        digest.update(PRESENT + b"".join(_rule_set_bytes(schema.rule_set)))
    return digest.digest()


def guid_of(content: bytes) -> str:
    return str(UUID(bytes=content))


def content_of_guid(guid: str) -> bytes | None:
    try:
        return UUID(guid).bytes
    except ValueError:
        return None


def java_order(texts: Iterable[str]) -> list[str]:
    """Returns texts in the order of Java's sorted maps: by UTF-16, not by code point."""
    ordered = sorted(texts)
    if all(map(str.isascii, ordered)):  # most names, and the same order
        return ordered
    return sorted(ordered, key=lambda text: text.encode("utf-16-be", "surrogatepass"))


def _metadata_texts(metadata: JsonObject) -> Iterator[str]:
    tags = metadata.get("tags") or {}
    for key in java_order(tags):
        yield key
        yield from java_order(tags[key])
    properties = metadata.get("properties") or {}
    for key in java_order(properties):
        yield key
        yield properties[key]
    yield from java_order(metadata.get("sensitive") or ())


def _rule_set_bytes(rule_set: JsonObject) -> Iterator[bytes]:
    for kind in ("migrationRules", "domainRules", "encodingRules"):
        for rule in rule_set.get(kind) or ():
            yield from _rule_bytes(rule)
    yield str(rule_set.get("enableAt") or "").encode()


def _rule_bytes(rule: dict[str, Any]) -> Iterator[bytes]:
    yield "".join(rule.get(key) or "" for key in _RULE_TEXTS).encode()
    yield "".join(java_order(rule.get("tags") or ())).encode()
    parameters = rule.get("params") or {}
    yield "".join(key + parameters[key] for key in java_order(parameters)).encode()
    yield "".join(rule.get(key) or "" for key in _RULE_ACTIONS).encode()
    if rule.get("disabled"):
        yield PRESENT

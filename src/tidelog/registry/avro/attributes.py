"""The attributes of a type or a field in the JSON of a schema: each as Java's parser takes it.

An attribute that is not known, or a doc that is no text, is no error; a name that is missing is.
"""

from collections import Counter
from typing import Any

from tidelog.registry.avro import json_text
from tidelog.registry.avro.limits import ALIASES_CHARS_MAX
from tidelog.registry.avro.names import Name, check_name, name_of, shown
from tidelog.registry.avro.types import Properties
from tidelog.registry.parsed import SchemaError

NO_PROPERTIES: Properties = {}
"""Shared by most types and fields: a large schema has many."""

OF_TYPES = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)
OF_ENUMS = OF_TYPES | {"default"}
OF_FIELDS = frozenset({"default", "doc", "name", "order", "type", "aliases"})


def name_of_type(schema: dict[str, Any], namespace: str | None) -> Name:
    name, own = schema.get("name"), schema.get("namespace")
    if not isinstance(name, str):
        raise SchemaError(f"A type of the kind {schema['type']} has no name: {brief(schema)}.")
    return name_of(name, own if isinstance(own, str) else namespace)


def doc(schema: dict[str, Any]) -> str | None:
    doc = schema.get("doc")
    return doc if isinstance(doc, str) else None


def aliases(schema: dict[str, Any]) -> tuple[str, ...]:
    aliases = schema.get("aliases", ())
    if aliases == ():
        return ()
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaError(f'"aliases" is no list of strings: {brief(aliases)}.')
    return tuple(dict.fromkeys(aliases))


def aliases_of_type(schema: dict[str, Any], name: Name) -> dict[Name, None]:
    found = dict.fromkeys(name_of(alias, name.namespace) for alias in aliases(schema))
    if sum(len(alias.simple) + len(alias.namespace or "") for alias in found) > ALIASES_CHARS_MAX:
        raise SchemaError(
            f'The aliases of the type "{name.full}" have more than {ALIASES_CHARS_MAX:,} characters with '
            "their namespaces. Remove some."
        )
    return found


def properties(schema: dict[str, Any], known: frozenset[str]) -> Properties:
    return {name: value for name, value in schema.items() if name not in known} or NO_PROPERTIES


def symbols(schema: dict[str, Any], name: Name) -> list[str]:
    symbols = schema.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
        raise SchemaError(f'The enum "{name.full}" has no list of "symbols", each a string.')
    for symbol in symbols:
        check_name(symbol)
    if len(set(symbols)) < len(symbols):
        twice, _ = Counter(symbols).most_common(1)[0]
        raise SchemaError(f'The enum "{name.full}" has the symbol "{twice}" twice.')
    return symbols


def enum_default(schema: dict[str, Any], name: Name, symbols: list[str]) -> str | None:
    default = schema.get("default")
    if not isinstance(default, str):
        return None
    if default not in symbols:
        raise SchemaError(f'The default "{shown(default)}" of the enum "{name.full}" is none of its symbols.')
    return default


def number(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SchemaError(f'The default of the field "{field}" is no number: {brief(text)}.') from None


def brief(value: Any) -> str:
    return shown(json_text.dump(value)[:201])

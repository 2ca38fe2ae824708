"""Defaults of Avro fields as values: JSON has no bytes and no times, so a schema has text and numbers.

fastavro gives a default as it stands in the schema. So that a column of times does not get numbers, each
default is written without its logical types and read with them, once, when the schema is read.
"""

import io
from collections.abc import Mapping
from typing import Any

import fastavro

from tidelog.spark.values.errors import BadSchema


def fill_defaults(schema: Any, named: Mapping[str, Any]) -> None:
    """Changes the parsed schema in place."""
    seen: set[int] = set()
    for part in (schema, *named.values()):
        _fill(part, named, seen)


def _fill(schema: Any, named: Mapping[str, Any], seen: set[int]) -> None:
    if isinstance(schema, list):
        for kind in schema:
            _fill(kind, named, seen)
    elif isinstance(schema, dict):
        for key in ("type", "items", "values"):
            _fill(schema.get(key), named, seen)
        for field in schema.get("fields", ()):
            if id(field) in seen:
                continue
            seen.add(id(field))
            _fill(field["type"], named, seen)
            if field.get("default") is not None:
                field["default"] = _value(field, named)


def _value(field: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    kind = field["type"][0] if isinstance(field["type"], list) else field["type"]
    stream = io.BytesIO()
    try:
        fastavro.schemaless_writer(stream, _bare(kind, named), _raw(field["default"], kind, named))
        stream.seek(0)
        return fastavro.schemaless_reader(stream, _whole(kind, named), None)
    except Exception as error:  # fastavro lets many kinds through
        raise BadSchema(f"the default of the field {field['name']} is not of its type: {error}") from error


def _raw(default: Any, kind: Any, named: Mapping[str, Any]) -> Any:
    """The default with bytes where JSON has text for them."""
    if isinstance(kind, list):
        kind = kind[0]
    if isinstance(kind, str):
        if kind == "bytes":
            return str(default).encode("latin-1")
        return _raw(default, named[kind], named) if kind in named else default
    match kind["type"]:
        case "bytes" | "fixed":
            return str(default).encode("latin-1")
        case "array":
            return [_raw(item, kind["items"], named) for item in default]
        case "map":
            return {key: _raw(item, kind["values"], named) for key, item in default.items()}
        case "record" | "error":
            types = {field["name"]: field for field in kind["fields"]}
            return {
                name: _raw(default[name], field["type"], named)
                for name, field in types.items()
                if name in default
            }
        case _:
            return default


def _bare(kind: Any, named: Mapping[str, Any]) -> Any:
    """Without logical types."""
    return fastavro.parse_schema(spelled_out(kind, named, set(), logical=False))


def _whole(kind: Any, named: Mapping[str, Any]) -> Any:
    return fastavro.parse_schema(spelled_out(kind, named, set(), logical=True))


def spelled_out(kind: Any, named: Mapping[str, Any], used: set[str], *, logical: bool = True) -> Any:
    """A type with its parts in the place of their names, where they come first: what is equal reads alike."""
    if isinstance(kind, list):
        return [spelled_out(inner, named, used, logical=logical) for inner in kind]
    if isinstance(kind, str):
        if kind not in named or kind in used:
            return kind
        return spelled_out(named[kind], named, used, logical=logical)
    if "name" in kind:
        if kind["name"] in used:
            return kind["name"]
        used.add(kind["name"])
    hidden = {"default", "doc", "aliases", "__fastavro_parsed", "__named_schemas"}
    made = {
        key: value for key, value in kind.items() if key not in hidden and (logical or key != "logicalType")
    }
    for key in ("type", "items", "values"):
        if key in made and not (key == "type" and isinstance(made[key], str) and made[key] not in named):
            made[key] = spelled_out(made[key], named, used, logical=logical)
    if "fields" in made:
        made["fields"] = [
            {"name": field["name"], "type": spelled_out(field["type"], named, used, logical=logical)}
            for field in made["fields"]
        ]
    return made

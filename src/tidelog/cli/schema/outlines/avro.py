"""The outline of an Avro schema. A named type is outlined where it is defined, and named elsewhere."""

import json
from typing import Any

from tidelog.cli.schema.outlines.outline import Outline

TOP = "(schema)"


def avro_outline(text: str) -> Outline:
    made: dict[str, dict[str, str]] = {}
    _add(json.loads(text), TOP, {}, made)
    return made


def _add(schema: Any, path: str, attributes: dict[str, str], made: dict[str, dict[str, str]]) -> None:
    made[path] = {"type": type_text(schema), **attributes}
    for inner in _records(schema):
        for field in inner.get("fields") or ():
            name = field["name"] if path == TOP else f"{path}.{field['name']}"
            _add(field["type"], name, _attributes(field), made)


def _attributes(field: dict[str, Any]) -> dict[str, str]:
    made = {}
    if "default" in field:
        made["default"] = json.dumps(field["default"], ensure_ascii=False)
    if field.get("aliases"):
        made["aliases"] = ", ".join(field["aliases"])
    if field.get("order", "ascending") != "ascending":
        made["order"] = str(field["order"])
    if field.get("doc"):
        made["doc"] = str(field["doc"])
    return made


def _records(schema: Any) -> list[dict[str, Any]]:
    """The records that are defined here: also as items, values, or branches of a union."""
    if isinstance(schema, list):
        return [record for branch in schema for record in _records(branch)]
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    if kind in ("record", "error"):
        return [schema]
    if kind == "array":
        return _records(schema.get("items"))
    if kind == "map":
        return _records(schema.get("values"))
    return _records(kind) if isinstance(kind, dict | list) else []


def type_text(schema: Any) -> str:
    """`array of string`, `null or record Address`, `long (timestamp-millis)`, `enum Color: RED, BLUE`."""
    if isinstance(schema, list):
        return " or ".join(map(type_text, schema))
    if not isinstance(schema, dict):
        return str(schema)
    kind = schema.get("type")
    match kind:
        case "array":
            return f"array of {type_text(schema.get('items'))}"
        case "map":
            return f"map of {type_text(schema.get('values'))}"
        case "record" | "error":
            return f"{kind} {_name(schema)}"
        case "enum":
            default = f" (default {schema['default']})" if "default" in schema else ""
            return f"enum {_name(schema)}: {', '.join(map(str, schema.get('symbols') or ()))}{default}"
        case "fixed":
            shown = f"fixed {_name(schema)} of {schema.get('size')} bytes"
        case _:
            shown = type_text(kind)
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"{shown} (decimal {schema.get('precision')}, {schema.get('scale', 0)})"
    return f"{shown} ({logical})" if logical else shown


def _name(schema: dict[str, Any]) -> str:
    namespace = schema.get("namespace")
    return f"{namespace}.{schema.get('name')}" if namespace else str(schema.get("name"))

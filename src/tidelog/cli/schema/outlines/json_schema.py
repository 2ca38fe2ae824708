"""The outline of a JSON Schema: properties by path, with their types and constraints."""

import json
from typing import Any

from tidelog.cli.schema.outlines.outline import Outline

TOP = "(schema)"
INSIDE = ("properties", "patternProperties", "definitions", "$defs", "dependentSchemas")
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
SINGLE = ("not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "items",
          "additionalProperties", "unevaluatedProperties")  # fmt: skip
LEFT_OUT = ("type", "$ref", "required", "$schema", "$id", "id", "title", "$comment", "examples")


def json_outline(text: str) -> Outline:
    made: dict[str, dict[str, str]] = {}
    _add(json.loads(text), TOP, made, is_required=False)
    return made


def _add(schema: Any, path: str, made: dict[str, dict[str, str]], *, is_required: bool) -> None:
    if not isinstance(schema, dict):
        made[path] = {"type": "anything" if schema is True else "nothing"}
        return
    made[path] = {"type": _type_text(schema), **({"required": "yes"} if is_required else {})}
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    inside = "" if path == TOP else f"{path}."
    for keyword, value in schema.items():
        if keyword in INSIDE and isinstance(value, dict):
            lead = "" if keyword == "properties" else f"{keyword}/"
            for name, inner in value.items():
                wanted = keyword == "properties" and name in (required or ())
                _add(inner, f"{inside}{lead}{name}", made, is_required=wanted)
        elif keyword in LISTS and isinstance(value, list):
            for number, inner in enumerate(value):
                _add(inner, f"{inside}{keyword}[{number}]", made, is_required=False)
        elif keyword == "items" and isinstance(value, dict):
            _add(value, f"{path.removeprefix(TOP)}[]", made, is_required=False)
        elif keyword in SINGLE and isinstance(value, dict):
            _add(value, f"{inside}{keyword}", made, is_required=False)
        elif keyword not in LEFT_OUT:
            made[path][keyword] = json.dumps(value, ensure_ascii=False)


def _type_text(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    return str(kind) if kind is not None else "any"

"""A JSON Schema as kinds of columns: names with their types, which may hold others.

A JSON Schema says which documents are valid, and Spark wants one type for each field. What may be of several
types is a text that holds the JSON. A schema that holds itself is refused, since a column cannot.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tidelog.registry.schema import Dependencies
from tidelog.spark.values.errors import BadSchema

FIELDS_MAX = 10_000
REFERENCES_MAX = 100
SIMPLE = {"boolean": "BOOLEAN", "integer": "BIGINT", "number": "DOUBLE", "string": "STRING"}
FORMATS = {"date-time": "TIMESTAMP", "date": "DATE"}
TEXT = "STRING"
TYPES = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))

Columns = dict[str, Any]
"""Kinds by name: the name of a type, ArrayOf, MapOf, or Columns in their turn."""


class ArrayOf(NamedTuple):
    of: Any


class MapOf(NamedTuple):
    of: Any


class _Place(NamedTuple):
    """A schema in its document, which its references are relative to."""

    document: Any
    schema: Any


def columns_of(text: str, dependencies: Dependencies) -> Columns:
    try:
        documents = {name: json.loads(other) for name, other in dependencies}
        whole = json.loads(text)
        found = _Reader(documents).kind(_Place(whole, whole), ())
    except ValueError as error:
        raise BadSchema(f"the JSON Schema is not valid: {error}") from error
    except RecursionError as error:
        raise BadSchema("the JSON Schema is nested too deep") from error
    if not isinstance(found, dict) or not found:
        raise BadSchema("the JSON Schema has to be an object with properties at its top")
    return found


class _Reader:
    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._fields = 0

    def kind(self, place: _Place, inside: tuple[int, ...]) -> Any:
        place = self._followed(place)
        schema = place.schema
        if not isinstance(schema, dict):
            return TEXT
        if id(schema) in inside:
            name = schema.get("title") or schema.get("$id") or "a part of the JSON Schema"
            raise BadSchema(
                f"{name} holds documents of its own kind without end, which Spark has no type for"
            )
        inside = (*inside, id(schema))
        for key in ("oneOf", "anyOf"):
            if isinstance(schema.get(key), list) and "properties" not in schema:
                return self._either([_Place(place.document, one) for one in schema[key]], inside)
        properties = self._properties(place, 0)
        if properties:
            return self._struct(properties, inside)
        return self._typed(place, inside)

    def _typed(self, place: _Place, inside: tuple[int, ...]) -> Any:
        schema: Any = place.schema
        types = _types(schema)
        if len(types) != 1:
            return "DOUBLE" if sorted(types) == ["integer", "number"] else TEXT
        match types[0]:
            case "array":
                items = schema.get("items")
                return ArrayOf(
                    self.kind(_Place(place.document, items), inside) if isinstance(items, dict) else TEXT
                )
            case "object":
                values = schema.get("additionalProperties")
                if isinstance(values, dict) and values:
                    return MapOf(self.kind(_Place(place.document, values), inside))
                return TEXT
            case "string":
                return FORMATS.get(str(schema.get("format")), TEXT)
            case name:
                return SIMPLE.get(name, TEXT)

    def _struct(self, properties: Mapping[str, _Place], inside: tuple[int, ...]) -> Columns:
        made = {}
        for name, inner in properties.items():
            self._fields += 1
            if self._fields > FIELDS_MAX:
                raise BadSchema(
                    f"the JSON Schema has more than {FIELDS_MAX:,} fields, with those of its parts"
                )
            made[name] = self.kind(inner, inside)
        return made

    def _properties(self, place: _Place, depth: int) -> dict[str, _Place]:
        """Its own, and those of `allOf`."""
        schema = place.schema
        found: dict[str, _Place] = {}
        if not isinstance(schema, dict) or depth > REFERENCES_MAX:
            return found
        for part in schema.get("allOf") or ():
            found |= self._properties(self._followed(_Place(place.document, part)), depth + 1)
        own = schema.get("properties")
        if isinstance(own, dict):
            found |= {name: _Place(place.document, inner) for name, inner in own.items()}
        return found

    def _either(self, branches: list[_Place], inside: tuple[int, ...]) -> Any:
        """The one type that is there beside null, or text."""
        real = [one for one in map(self._followed, branches) if not _is_null(one.schema)]
        kinds = [self.kind(one, inside) for one in real]
        return kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else TEXT

    def _followed(self, place: _Place) -> _Place:
        for _ in range(REFERENCES_MAX):
            if not isinstance(place.schema, dict) or not isinstance(place.schema.get("$ref"), str):
                return place
            place = self._referred(place, place.schema["$ref"])
        raise BadSchema("the JSON Schema has references that lead to each other")

    def _referred(self, place: _Place, reference: str) -> _Place:
        name, _, pointer = reference.partition("#")
        document = self._documents.get(name) if name else place.document
        if (
            name
            and document is None
            and isinstance(place.document, dict)
            and name == place.document.get("$id")
        ):
            document = place.document
        found = document
        for part in filter(None, pointer.split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        if found is None:
            raise BadSchema(f"the JSON Schema refers to '{reference}', which is not there")
        return _Place(document, found)


def _types(schema: Mapping[str, Any]) -> list[str]:
    said = schema.get("type")
    types = [said] if isinstance(said, str) else [one for one in said or () if isinstance(one, str)]
    if not types:
        values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
        types = sorted({_type_of(value) for value in values})
    return [name for name in types if name != "null"]


def _type_of(value: object) -> str:
    for kind, name in TYPES:
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in ("null", ["null"])

"""Avro records of any version as rows of the reader schema.

Avro's rules of compatibility do not look at logical types: a number of milliseconds that became a time
would be read as microseconds. So versions that differ in a logical type, but for its unit, are unreadable.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tidelog.registry.schema import Dependencies, SchemaType
from tidelog.spark.values.avro import AvroValues, parsed_avro
from tidelog.spark.values.avro_defaults import fill_defaults, spelled_out
from tidelog.spark.values.registered.unreadable import UnreadableSchema, refuse_unreadable

UNITS = ("-millis", "-micros", "-nanos")
DEPTH_MAX = 100

Decode = Callable[[bytes], dict[str, Any]]


class AvroReader:
    def __init__(self, text: str, dependencies: Dependencies) -> None:
        self.values = AvroValues(text, dependencies)
        fill_defaults(self.values.schema, self.values.named)
        self._text, self._dependencies = text, dependencies

    def decoder(self, text: str, dependencies: Dependencies) -> Decode:
        """For values of a writer's schema. Raises UnreadableSchema."""
        if (text, tuple(dependencies)) == (self._text, tuple(self._dependencies)):
            return self.values.decode
        refuse_unreadable(SchemaType.AVRO, (self._text, self._dependencies), (text, dependencies))
        writer = parsed_avro(text, dependencies)
        change = _Logical(writer["__named_schemas"], self.values.named).change(writer, self.values.schema)
        if change is not None:
            raise UnreadableSchema(change)
        return self._without_resolution(writer) or self.values.decoder(writer)

    def _without_resolution(self, writer: Mapping[str, Any]) -> Decode | None:
        """Where fields only came or went, which is most often: as fast as the reader's own values.

        Arrow takes of a dict the fields that it knows, and null for those that are not there."""
        own, named = self.values.schema, self.values.named
        written = {field["name"]: field for field in writer["fields"]}
        defaults = {}
        for field in own["fields"]:
            name = field["name"]
            if name not in written and "default" in field and not field.get("aliases"):
                defaults[name] = field["default"]
            elif name not in written or not _is_same(field, named, written[name], writer["__named_schemas"]):
                return None
        set_defaults = {name: value for name, value in defaults.items() if value is not None}
        decode = self.values.decoder_of(writer)
        if not set_defaults:
            return decode
        return lambda value: {**set_defaults, **decode(value)}


def _is_same(
    one: Mapping[str, Any], of_one: Mapping[str, Any], other: Mapping[str, Any], of_other: Mapping[str, Any]
) -> bool:
    return bool(spelled_out(one["type"], of_one, set()) == spelled_out(other["type"], of_other, set()))


class _Logical:
    def __init__(self, writers: Mapping[str, Any], readers: Mapping[str, Any]) -> None:
        self._writers, self._readers = writers, readers
        self._seen: set[tuple[str, str]] = set()

    def change(self, writer: Any, reader: Any, where: str = "") -> str | None:
        """What the one has for another kind of value than the other, in a sentence."""
        for one in _kinds(writer, self._writers):
            for other in _kinds(reader, self._readers):
                if one["type"] == other["type"] and (found := self._between(one, other, where)) is not None:
                    return found
        return None

    def _between(self, writer: Mapping[str, Any], reader: Mapping[str, Any], where: str) -> str | None:
        before, now = _meaning(writer), _meaning(reader)
        if before != now:
            return f"field {where} is {now} in the one and {before} in the other"
        match writer["type"]:
            case "array":
                return self.change(writer["items"], reader["items"], where)
            case "map":
                return self.change(writer["values"], reader["values"], where)
            case "record" | "error":
                return self._records(writer, reader, where)
        return None

    def _records(self, writer: Mapping[str, Any], reader: Mapping[str, Any], where: str) -> str | None:
        pair = (writer["name"], reader["name"])
        if pair in self._seen:
            return None
        self._seen.add(pair)
        written = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            names = (field["name"], *field.get("aliases", ()))
            found = next((written[name] for name in names if name in written), None)
            place = f"{where}.{field['name']}" if where else field["name"]
            if found is not None and (said := self.change(found["type"], field["type"], place)) is not None:
                return said
        return None


def _kinds(schema: Any, named: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """The branches of a union, or the type alone, each as an object."""
    if isinstance(schema, list):
        return [kind for inner in schema for kind in _kinds(inner, named, depth)]
    if isinstance(schema, str):
        return [named.get(schema, {"type": schema})]
    if not isinstance(schema["type"], str) and depth < DEPTH_MAX:
        return _kinds(schema["type"], named, depth + 1)
    return [schema]


def _meaning(schema: Mapping[str, Any]) -> str:
    """A time is a time in any unit; fastavro reads each by the writer's."""
    logical = str(schema.get("logicalType") or f"a plain {schema['type']}")
    for unit in UNITS:
        logical = logical.removesuffix(unit)
    return logical
